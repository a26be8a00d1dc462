#include "model/enum_names.hpp"

namespace ako::model {

namespace {

constexpr EnumName<Lane> k_lane[] = {{Lane::cuda, "cuda"},
                                     {Lane::cutlass, "cutlass"},
                                     {Lane::triton, "triton"},
                                     {Lane::cute_dsl, "cute-dsl"},
                                     {Lane::cpu, "cpu"}};
constexpr EnumName<Workload> k_workload[] = {{Workload::latency, "latency"},
                                             {Workload::throughput, "throughput"}};
constexpr EnumName<TensorRole> k_role[] = {{TensorRole::in, "in"},
                                           {TensorRole::out, "out"},
                                           {TensorRole::inout, "inout"},
                                           {TensorRole::workspace, "workspace"}};
constexpr EnumName<Lifetime> k_lifetime[] = {{Lifetime::fresh, "fresh"},
                                             {Lifetime::static_, "static"}};
constexpr EnumName<CacheState> k_cache[] = {{CacheState::cold, "cold"}, {CacheState::warm, "warm"}};
constexpr EnumName<AddressRule> k_address[] = {{AddressRule::stable, "stable"},
                                               {AddressRule::fresh, "fresh"}};
constexpr EnumName<Fill> k_fill[] = {
    {Fill::uniform, "uniform"}, {Fill::normal, "normal"},           {Fill::index, "index"},
    {Fill::offsets, "offsets"}, {Fill::permutation, "permutation"}, {Fill::recorded, "recorded"},
    {Fill::custom, "custom"}};
constexpr EnumName<Compare> k_compare[] = {{Compare::close, "close"},
                                           {Compare::exact, "exact"},
                                           {Compare::set, "set"},
                                           {Compare::property, "property"}};
constexpr EnumName<Clock> k_clock[] = {
    {Clock::device, "device"}, {Clock::graph, "graph"}, {Clock::call, "call"}};
constexpr EnumName<Permission> k_permission[] = {{Permission::allowed, "allowed"},
                                                 {Permission::forbidden, "forbidden"}};
constexpr EnumName<PrecisionRule> k_precision[] = {{PrecisionRule::fixed, "fixed"},
                                                   {PrecisionRule::free, "free"}};
constexpr EnumName<WorkspaceState> k_workspace[] = {{WorkspaceState::undefined, "undefined"},
                                                    {WorkspaceState::zeroed_once, "zeroed once"}};
constexpr EnumName<ErrorPrecision> k_error_precision[] = {{ErrorPrecision::native, "native"},
                                                          {ErrorPrecision::float32, "float32"},
                                                          {ErrorPrecision::float64, "float64"}};

} // namespace

#define AKO_NAMES(E, table)                                                                        \
  template <> std::span<const EnumName<E>> enum_names<E>() { return table; }                       \
  const char* to_string(E value) { return enum_text(value); }

AKO_NAMES(Lane, k_lane)
AKO_NAMES(Workload, k_workload)
AKO_NAMES(TensorRole, k_role)
AKO_NAMES(Lifetime, k_lifetime)
AKO_NAMES(CacheState, k_cache)
AKO_NAMES(AddressRule, k_address)
AKO_NAMES(Fill, k_fill)
AKO_NAMES(Compare, k_compare)
AKO_NAMES(Clock, k_clock)
AKO_NAMES(Permission, k_permission)
AKO_NAMES(PrecisionRule, k_precision)
AKO_NAMES(WorkspaceState, k_workspace)
AKO_NAMES(ErrorPrecision, k_error_precision)

#undef AKO_NAMES

std::optional<Lane> lane_from(std::string_view text) { return enum_from<Lane>(text); }

} // namespace ako::model
