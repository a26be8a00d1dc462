// One client's conversation: requests in, answers out, calls between. Knows no descriptors but
// those of its jobs.
#pragma once

#include "mcp/brief.hpp"
#include "mcp/job.hpp"
#include "mcp/message.hpp"
#include "mcp/server.hpp"

#include <list>
#include <memory>
#include <poll.h>

namespace ako::mcp {

inline constexpr std::size_t k_most_jobs = 8, k_most_queued = 64;

class Session {
public:
  Session(const Site& site, std::function<void(const base::Json&)> send);

  void take_line(const Line& line, std::size_t most);
  /// What stood behind the last line break when the input ended: taken when it is a whole message.
  void take_rest(const std::string& text);

  /// Calls that are at work or wait for their turn.
  std::size_t open_calls() const { return m_jobs.size() + m_queue.size(); }
  void add_descriptors(std::vector<pollfd>& into) const;
  void read_jobs();

  /// The client goes: calls are asked to stop, those that only read may finish. What has not begun
  /// and will not is answered so.
  enum class Farewell { let_readers_end, stop_all };
  void farewell(Farewell how);
  /// There is no more time: whatever is open yet is ended, and answered so.
  void abandon();

private:
  /// Where the answers of one list of messages are gathered.
  struct Batch {
    std::size_t open = 0;
    base::Json answers = base::Json::array();
  };
  /// Whom to answer.
  struct Asker {
    base::Json id;
    std::shared_ptr<Batch> batch;
    bool cacheable = false; ///< the protocol wants to be told for how long the answer holds
  };
  /// What a request asks for, done in a process of its own.
  struct Call {
    Asker asker;
    base::Json progress_token;
    Job::Work work;
    const Tool* tool = nullptr; ///< none for resources and prompts
    std::string method;         ///< then
    Detail detail = Detail::brief;
    std::optional<int> level; ///< of log lines, where each request says its own
    bool reads() const { return tool == nullptr || tool->effect == Effect::reads; }
  };
  struct Running {
    Job job;
    Call call;
    bool cancelled = false;
    double shown = -1; ///< progress told last
  };

  void take(const Message& message, const std::shared_ptr<Batch>& batch);
  void take_request(const Message& message, Asker asker);
  void take_notification(const Message& message);
  void answer(const Asker& asker, const base::Json& reply);
  void done(const std::shared_ptr<Batch>& batch);
  void result(const Asker& asker, base::Json value);
  void error(const Asker& asker, const RpcError& problem) {
    answer(asker, error_response(asker.id, problem));
  }

  /// Greets, or looks at a request's own envelope; false when that has answered it.
  bool admit(const Message& message, const Asker& asker);
  bool admit_enveloped(const Message& message, const Asker& asker);
  void initialize(const Message& message, const Asker& asker);
  void discover(const Asker& asker);
  void list(const Message& message, const Asker& asker, const char* member, base::Json entries);
  void call_tool(const Message& message, Asker asker);
  void give_more(const base::Json& arguments, const Asker& asker);
  void set_level(const Message& message, const Asker& asker);
  /// At once, or when one of those that are at work has ended.
  void start(Call call);
  void begin(Call call);
  bool is_open(const base::Json& id) const;
  void cancel(const base::Json& id);
  void tell(Running& running, const Job::News& news);
  void finish(Running& running, const base::Expected<base::Json>& outcome);
  base::Json tool_result(const base::Expected<base::Json>& outcome, const Running& running);
  base::Json sized(const std::string& text, base::Json structured, bool failed, std::size_t bytes);
  base::Json server_info() const;
  std::size_t stamp_bytes() const { return m_dialect.enveloped ? k_stamp_bytes : 0; }

  const Site& m_site;
  std::function<void(const base::Json&)> m_send;
  Tool m_more;
  Dialect m_dialect;
  bool m_initialized = false;
  int m_level = 1; ///< of k_levels: info
  std::list<Running> m_jobs;
  std::list<Call> m_queue;
  Kept m_kept;
};

} // namespace ako::mcp
