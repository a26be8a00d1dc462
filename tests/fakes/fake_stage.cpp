#include "fakes/fake_stage.hpp"

#include "base/hash.hpp"
#include "inputs/codec.hpp"
#include "inputs/poison.hpp"
#include "model/arena.hpp"
#include "model/contract_toml.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

namespace ako::fakes {
namespace {

using Bytes = std::vector<std::byte>;
using evaluation::Answer;
using evaluation::Content;
using model::TensorRole;

constexpr double k_command_ns = 2e5; ///< the parent's own share of a command's wall time

std::string contract_text(const std::vector<int>& shapes, const std::string& more,
                          const std::string& y_role, const std::string& x_keys) {
  std::string out = R"(format = 1
[kernel]
entry = { file = "solution/k.cpp", symbol = "k" }
[axes]
N = { var = true, min = 1, max = @, tile = 16 }
[reference]
entry = { file = "input/ref.cpp", symbol = "k" }
precision = "float64"
[limits]
placements = 6
pairs = 4
)";
  const int most = std::max(4096, *std::max_element(shapes.begin(), shapes.end()));
  out.replace(out.find('@'), 1, std::to_string(most));
  if (y_role == "out")
    out +=
        "[[tensor]]\nname = \"x\"\nrole = \"in\"\ndtype = \"float32\"\nshape = [\"N\"]\n" + x_keys;
  out += fmt::format("[[tensor]]\nname = \"y\"\nrole = \"{}\"\ndtype = \"float32\"\nshape = "
                     "[\"N\"]\n",
                     y_role);
  for (int n : shapes) out += fmt::format("[[shape]]\nN = {}\n", n);
  return out + more;
}

bool is_output(TensorRole role) { return role == TensorRole::out || role == TensorRole::inout; }
bool is_input(TensorRole role) { return role == TensorRole::in || role == TensorRole::inout; }

/// One tensor of one set.
struct Buffer {
  Bytes shared, own; ///< own: where the reference writes; empty for inputs
  std::uint64_t sum = 0;
  std::optional<inputs::Sentinel> poisoned;
  int past_end = 0;
};

class FakeStage final : public evaluation::Stage {
public:
  explicit FakeStage(World& world) : m_world(world), m_round(++world.rounds) {}

  Answer<client::LoadReport> load(Side side) override {
    const Script& script = m_world.script(side);
    if (script.load_fails) return tl::unexpected(*script.load_fails);
    if (m_loaded.insert(side).second) note("load", side);
    return script.loaded;
  }
  bool has(Side side) const override { return side != Side::reference || m_world.has_reference; }

  base::Status open(const model::ResolvedShape& shape, int sets, std::uint64_t) override {
    m_shape = shape;
    ++m_opened;
    m_world.log.push_back("open " + shape.tag);
    m_buffers.assign(shape.tensors.size(), std::vector<Buffer>(static_cast<std::size_t>(sets)));
    for (std::size_t t = 0; t < shape.tensors.size(); ++t)
      for (auto& buffer : m_buffers[t]) {
        const auto& tensor = shape.tensors[t];
        buffer.shared.resize(static_cast<std::size_t>(tensor.bytes));
        if (is_output(tensor.role))
          buffer.own.resize(static_cast<std::size_t>(
              model::bytes_of(own_dtype(static_cast<int>(t)), tensor.span_elements)));
      }
    return {};
  }
  void close() override { m_buffers.clear(); }

  base::Status fill(const Content& content) override {
    m_content = content;
    m_world.log.push_back(fmt::format("fill {:016x} {}", content.seed, content.epoch));
    for (std::size_t t = 0; t < m_buffers.size(); ++t) {
      if (!is_input(m_shape.tensors[t].role)) continue;
      AKO_TRY(auto filler,
              inputs::Filler::make(m_shape.tensors[t], m_world.contract().tensors[t].fill,
                                   content.recipe));
      for (std::size_t s = 0; s < m_buffers[t].size(); ++s) {
        Buffer& buffer = m_buffers[t][s];
        const inputs::StreamId stream{content.seed, static_cast<std::uint32_t>(t),
                                      static_cast<std::uint32_t>(s), content.epoch};
        AKO_TRY_STATUS(filler.fill(buffer.shared, stream));
        buffer.sum = base::checksum(buffer.shared);
        if (m_shape.tensors[t].role == TensorRole::inout) buffer.own = buffer.shared;
      }
    }
    return {};
  }

  base::Status write(int tensor, int set, std::span<const std::byte> bytes) override {
    Buffer& buffer = at(tensor, set);
    std::copy(bytes.begin(), bytes.end(), buffer.shared.begin());
    buffer.sum = base::checksum(buffer.shared);
    return {};
  }

  base::Status poison(inputs::Sentinel sentinel, const std::vector<int>& sets) override {
    for (std::size_t t = 0; t < m_buffers.size(); ++t)
      for (int set : sets) {
        Buffer& buffer = at(static_cast<int>(t), set);
        buffer.past_end = 0;
        if (m_shape.tensors[t].role != TensorRole::out) continue;
        inputs::poison(buffer.shared, m_shape.tensors[t].dtype, sentinel);
        buffer.poisoned = sentinel;
      }
    return {};
  }

  base::Expected<client::CheckReport> check(const std::vector<int>& sets) override {
    client::CheckReport out;
    for (std::size_t t = 0; t < m_buffers.size(); ++t)
      for (int set : sets) {
        const Buffer& buffer = at(static_cast<int>(t), set);
        client::BufferCheck found;
        found.tensor = static_cast<int>(t);
        found.set = set;
        found.red_after = buffer.past_end;
        if (m_shape.tensors[t].role == TensorRole::in)
          found.input_changed = buffer.sum != base::checksum(buffer.shared);
        if (buffer.poisoned) {
          auto poison = inputs::find_poison(buffer.shared, m_shape.tensors[t], *buffer.poisoned);
          found.unwritten = poison.count;
          found.first = poison.first;
          found.last = poison.last;
        }
        if (found.damaged() || found.unwritten > 0) out.buffers.push_back(found);
      }
    return out;
  }

  Answer<void> bind(Side) override { return {}; }

  Answer<client::CallReport> call(Side side, int set, client::Function) override {
    auto ran = run(side, set);
    if (!ran) return tl::unexpected(ran.error());
    client::CallReport out;
    out.ns = static_cast<std::int64_t>(*ran);
    return out;
  }

  Answer<client::SampleReport> sample(Side side, const client::SampleJob& job) override {
    client::SampleReport out;
    for (double spent = 0; !job.warmup_sets.empty();) {
      for (int set : job.warmup_sets) {
        auto ran = run(side, set);
        if (!ran) return tl::unexpected(ran.error());
        spent += *ran;
        ++out.warmup_calls;
      }
      out.warmup_spent_ns = static_cast<std::int64_t>(spent);
      if (spent >= static_cast<double>(job.warmup_ns)) break;
    }
    Moment last;
    for (int set : job.sets) {
      last = moment(side, set);
      auto ran = run(side, set);
      if (!ran) return tl::unexpected(ran.error());
      out.call_ns.push_back(*ran * (1 + m_world.noise * m_world.jitter()));
      out.pass_ns += out.call_ns.back();
      ++out.calls;
    }
    out.cache_state = job.cache == model::CacheState::cold ? "cold-clean" : "warm";
    out.pass_ns *= job.repeat;
    out.calls *= job.repeat;
    out.parent_cpu_ns = static_cast<std::int64_t>(out.pass_ns) + out.warmup_spent_ns;
    out.parent_wall_ns = out.parent_cpu_ns + static_cast<std::int64_t>(k_command_ns);
    const double share = m_world.waiting ? m_world.waiting(last) : 0;
    const auto timed = static_cast<std::int64_t>(out.pass_ns);
    out.first_ns = m_now;
    out.last_ns = m_now + timed;
    out.parent_wait_ns = static_cast<std::int64_t>(share * static_cast<double>(timed));
    out.cpu_ns = timed - out.parent_wait_ns;
    m_now += out.parent_wall_ns;
    if (const auto& bend = m_world.script(side).bend) bend(out);
    m_swept = false;
    return out;
  }

  base::Expected<std::span<const std::byte>> bytes(int tensor, int set) override {
    return std::span<const std::byte>(at(tensor, set).shared);
  }
  base::Expected<std::span<const std::byte>> expected_bytes(int tensor, int set) override {
    return std::span<const std::byte>(at(tensor, set).own);
  }

  base::Expected<client::MachineState> machine() override {
    client::MachineState out;
    out.adds_per_ns = m_world.clock ? m_world.clock(m_looks) : 3.0;
    ++m_looks;
    out.at_ns = m_now;
    return out;
  }
  std::int64_t cache_bytes() const override { return 1 << 20; }
  base::Status sweep() override {
    m_swept = true;
    return {};
  }

private:
  void note(const char* what, Side side) {
    m_world.log.push_back(fmt::format("{} {}", what, model::to_string(side)));
  }
  Buffer& at(int tensor, int set) {
    return m_buffers[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(set)];
  }
  const Buffer& at(int tensor, int set) const {
    return m_buffers[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(set)];
  }
  model::Dtype own_dtype(int tensor) const {
    return model::reference_dtype(m_world.contract(), m_shape, tensor);
  }
  Moment moment(Side side, int set) const {
    const auto calls = m_calls.find(side);
    return {side, m_round,   m_opened, calls == m_calls.end() ? 0 : calls->second,
            set,  m_content, &m_shape, m_swept};
  }

  /// Contents whose answer was there before the candidate met them.
  void note_order(Side side) {
    const auto holds = [&](const auto& all) {
      return std::find(all.begin(), all.end(), m_content) != all.end();
    };
    if (side == Side::reference && !holds(m_met)) m_answered.push_back(m_content);
    if (side != Side::candidate || holds(m_met)) return;
    m_met.push_back(m_content);
    if (holds(m_answered)) m_world.reference_first.push_back(m_content);
  }

  /// Runs the script on one set; the time of the call, or how it failed.
  Answer<double> run(Side side, int set) {
    const Script& script = m_world.script(side);
    const Moment now = moment(side, set);
    ++m_calls[side];
    note("call", side);
    note_order(side);
    if (script.fails)
      if (auto how = script.fails(now)) return tl::unexpected(*how);
    const bool is_reference = side == Side::reference;
    const int in = first([](TensorRole role) { return is_input(role); });
    const int out = first([](TensorRole role) { return is_output(role); });
    Buffer& input = at(in, set);
    Buffer& output = at(out, set);
    const bool in_own = is_reference && !input.own.empty();
    const auto from = m_shape.tensors[static_cast<std::size_t>(in)].dtype;
    const auto elements = m_shape.tensors[static_cast<std::size_t>(out)].elements;
    std::vector<double> x(static_cast<std::size_t>(elements));
    inputs::decode_range(from, in_own ? input.own : input.shared, 0, x);
    Call call(now, x, x.size());
    script.run(call);
    if (call.x != x && !is_reference) inputs::encode_range(from, call.x, input.shared, 0);
    const auto to =
        is_reference ? own_dtype(out) : m_shape.tensors[static_cast<std::size_t>(out)].dtype;
    for (std::int64_t i = 0; i < elements; ++i)
      if (call.wrote(i))
        inputs::store(to, is_reference ? output.own : output.shared, i, call.written(i));
    output.past_end += call.past_end;
    return script.ns(now);
  }

  template <class Wanted> int first(Wanted wanted) const {
    for (std::size_t t = 0; t < m_shape.tensors.size(); ++t)
      if (wanted(m_shape.tensors[t].role)) return static_cast<int>(t);
    return 0;
  }

  World& m_world;
  int m_round, m_opened = 0, m_looks = 0;
  bool m_swept = false;
  std::int64_t m_now = 0;
  std::vector<evaluation::Content> m_met, m_answered; ///< by the candidate; before it
  std::set<Side> m_loaded;
  std::map<Side, std::int64_t> m_calls;
  model::ResolvedShape m_shape;
  Content m_content;
  std::vector<std::vector<Buffer>> m_buffers; ///< [tensor][set]
};

} // namespace

double right(double x) { return x / 2 + 1; }

void honest(Call& call) {
  for (std::int64_t i = 0; i < call.size(); ++i)
    call.write(i, right(call.x[static_cast<std::size_t>(i)]));
}

Script writes(std::function<double(double, std::int64_t, const Moment&)> value) {
  Script out;
  out.run = [value = std::move(value)](Call& call) {
    for (std::int64_t i = 0; i < call.size(); ++i)
      call.write(i, value(call.x[static_cast<std::size_t>(i)], i, call.at));
  };
  return out;
}

client::WorkerFailure failure(client::FailureKind kind, std::string text) {
  client::WorkerFailure out;
  out.kind = kind;
  out.text = std::move(text);
  out.during = "call";
  out.data = base::Json::object();
  return out;
}

World::World(std::vector<int> shapes, const std::string& more, const std::string& y_role,
             const std::string& x_keys) {
  auto parsed = model::parse_contract(contract_text(shapes, more, y_role, x_keys), "task.toml");
  if (parsed) m_contract = std::move(*parsed);
  else ADD_FAILURE() << parsed.error().text();
}

std::vector<model::ResolvedShape> World::shapes() const {
  auto out = model::resolve_all(m_contract);
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out ? *out : std::vector<model::ResolvedShape>{};
}

Script& World::script(Side side) {
  return side == Side::candidate ? candidate : side == Side::incumbent ? incumbent : reference;
}

double World::jitter() { return std::normal_distribution<double>(0, 1)(m_random); }

evaluation::Request World::request() const {
  evaluation::Request out;
  out.contract = &m_contract;
  out.shapes = shapes();
  for (const auto& one : model::edge_shapes(m_contract, 1 << 20))
    out.edges.push_back(model::resolve(m_contract, one).value());
  for (const auto& one : model::hidden_shapes(m_contract, 11, 2, 1 << 20))
    out.hidden.push_back(model::resolve(m_contract, one).value());
  out.against = "baseline:first";
  out.judged = has_reference;
  return out;
}

evaluation::StageFactory World::factory() {
  return
      [this] { return base::Expected<std::unique_ptr<evaluation::Stage>>(make_fake_stage(*this)); };
}

evaluation::Report World::evaluate() {
  auto report = evaluation::evaluate(request(), factory());
  EXPECT_TRUE(report) << (report ? "" : report.error().text());
  return report ? std::move(*report) : evaluation::Report{};
}

std::unique_ptr<evaluation::Stage> make_fake_stage(World& world) {
  return std::make_unique<FakeStage>(world);
}

} // namespace ako::fakes
