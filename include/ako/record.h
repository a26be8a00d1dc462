/* Records what a program hands to a kernel: each distinct call signature with its count, as JSON
 * lines.
 *
 *   #include <ako/record.h>                                    C++17, header only
 *   void rms_norm(float* y, const float* x, int rows) {
 *     ako_record::call("rms_norm", {ako_record::tensor("x", "float32", {rows, 4096}),
 *                                   ako_record::number("rows", rows)});
 *     ...
 *
 * Or without touching the program, as a library of its own for LD_PRELOAD:
 *
 *   AKO_RECORD_PRELOAD(void, rms_norm, (float* y, const float* x, int rows), (y, x, rows),
 *                      ako_record::tensor("x", "float32", {rows, 4096}), ako_record::number("rows",
 * rows))
 *
 *   g++ -shared -fPIC -I<ako>/include my_recorder.cpp -o recorder.so -ldl; LD_PRELOAD=./recorder.so
 * program
 *
 * (C symbols of shared libraries; give the mangled name for others.) The file is $AKO_RECORD, else
 * ako_calls.jsonl in the current folder; it is appended to when the process ends and by
 * ako_record::flush(). */
#ifndef AKO_RECORD_H
#define AKO_RECORD_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <map>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/file.h>

namespace ako_record {

struct Argument {
  std::string text; /* one JSON object */
};

inline std::string quoted(const char* text) {
  std::string out = "\"";
  for (; *text != 0; ++text) {
    if (*text == '"' || *text == '\\') out += '\\';
    out += static_cast<unsigned char>(*text) < 0x20 ? ' ' : *text;
  }
  return out + "\"";
}

inline std::string list(std::initializer_list<long long> values) {
  std::string out = "[";
  for (const long long value : values) out += (out.size() > 1 ? ", " : "") + std::to_string(value);
  return out + "]";
}

inline Argument tensor(const char* name, const char* dtype, std::initializer_list<long long> shape,
                       std::initializer_list<long long> strides = {}) {
  std::string out = "{\"name\": " + quoted(name) + ", \"dtype\": " + quoted(dtype) +
                    ", \"shape\": " + list(shape);
  if (strides.size() > 0) out += ", \"strides\": " + list(strides);
  return {out + "}"};
}

inline Argument number(const char* name, double value) {
  char text[64];
  /* Whole numbers stay whole; infinities and NaN have no JSON. */
  if (!(value - value == 0)) std::snprintf(text, sizeof text, "null");
  else std::snprintf(text, sizeof text, "%.17g", value);
  return {"{\"name\": " + quoted(name) + ", \"value\": " + text + "}"};
}

/* Lives until the process ends: calls may come from static destructors. */
struct Book {
  std::mutex mutex;
  std::map<std::string, long long> counts;
};

inline void flush();
inline Book& book();

/* A child counts its own calls; its parent's are the parent's to write. */
inline void before_fork() { book().mutex.lock(); }
inline void in_parent() { book().mutex.unlock(); }
inline void in_child() {
  book().counts.clear();
  book().mutex.unlock();
}

inline Book& book() {
  static Book* the_book = [] {
    std::atexit(flush);
    ::pthread_atfork(before_fork, in_parent, in_child);
    return new Book;
  }();
  return *the_book;
}

inline void call(const char* kernel, std::initializer_list<Argument> arguments) {
  std::string line = "\"args\": [";
  for (const Argument& each : arguments) line += (line.back() == '[' ? "" : ", ") + each.text;
  Book& the_book = book();
  const std::lock_guard<std::mutex> lock(the_book.mutex);
  ++the_book.counts["{\"kernel\": " + quoted(kernel) + ", " + line + "]"];
}

inline void flush() {
  Book& the_book = book();
  std::string text;
  {
    const std::lock_guard<std::mutex> lock(the_book.mutex);
    for (const auto& entry : the_book.counts)
      text += entry.first + ", \"count\": " + std::to_string(entry.second) + "}\n";
    the_book.counts.clear();
  }
  if (text.empty()) return;
  const char* wanted = std::getenv("AKO_RECORD");
  std::FILE* file = std::fopen(wanted != nullptr && *wanted != 0 ? wanted : "ako_calls.jsonl", "a");
  if (file == nullptr) {
    std::fprintf(stderr, "ako_record: the calls could not be written\n");
    return;
  }
  ::flock(::fileno(file), LOCK_EX); /* several processes may share the file */
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
}

} /* namespace ako_record */

#define AKO_RECORD_PRELOAD(result, symbol, parameters, arguments, ...)                             \
  extern "C" result symbol parameters {                                                            \
    using Entry = result(*) parameters;                                                            \
    static const auto next = reinterpret_cast<Entry>(::dlsym(RTLD_NEXT, #symbol));                 \
    ako_record::call(#symbol, {__VA_ARGS__});                                                      \
    return next arguments;                                                                         \
  }

#endif
