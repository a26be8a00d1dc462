// The steps of resolve(), for callers that know the place of each part. Internal to this room.
#pragma once

#include "model/resolved.hpp"

namespace ako::model {

/// An error of kind invalid.
tl::unexpected<base::Error> wrong_value(std::string where, std::string message, std::string found,
                                        std::string allowed, std::string next = {});

/// Values of the var, const and expr axes. Errors: where = the axis.
base::Expected<AxisValues> resolve_axes(const Contract& contract, const ShapeCase& shape);

/// Errors: where = the key of the tensor that is wrong: dtype, shape, strides, fill.limit.
base::Expected<ResolvedTensor> resolve_tensor(const Tensor& tensor, const AxisValues& axes,
                                              const std::map<std::string, Dtype>& dtypes);

/// Errors: where = expr.
base::Expected<double> resolve_scalar(const Scalar& scalar, const AxisValues& axes);

/// flops, bytes and accumulate of a shape whose tensors are resolved. Errors: where = flops, bytes
/// or accumulate.
base::Status resolve_work(const Contract& contract, ResolvedShape& resolved);

} // namespace ako::model
