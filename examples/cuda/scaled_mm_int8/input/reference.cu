// Integer sums are exact; scales and bias in float64.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

__global__ void one_element(const int8_t* a, const int8_t* b, const float* scale_a,
                            const float* scale_b, const __nv_bfloat16* bias, double* d, int rows,
                            int columns, int depth) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= columns || row >= rows) return;
  long long sum = 0;
  for (int k = 0; k < depth; ++k)
    sum += static_cast<int>(a[static_cast<long long>(row) * depth + k]) *
           static_cast<int>(b[static_cast<long long>(column) * depth + k]);
  d[static_cast<long long>(row) * columns + column] =
      static_cast<double>(sum) * static_cast<double>(scale_a[row]) *
          static_cast<double>(scale_b[column]) +
      static_cast<double>(__bfloat162float(bias[column]));
}

void scaled_mm_reference(const int8_t* a, const int8_t* b, const float* scale_a,
                         const float* scale_b, const __nv_bfloat16* bias, double* d, int rows,
                         int columns, int depth, cudaStream_t stream) {
  one_element<<<dim3((columns + 127) / 128, rows), 128, 0, stream>>>(a, b, scale_a, scale_b, bias,
                                                                     d, rows, columns, depth);
}
