// A step like that of speckle-reducing diffusion: tiles of borders, of which the compiler merges the loads, so that one register may point
// into several arrays.
// run: borders<<<(2, 2), (16, 16)>>>(in f32 1024, in f32 1024, in f32 1024, in f32 1024, inout f32 1024, in f32 1088, 32, 32, 0.5f)
#define B 16
__global__ void borders(const float* E, const float* W, const float* N, const float* S, float* J, const float* C, int cols, int rows, float lambda) {
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  int index = cols * B * by + B * bx + cols * ty + tx;
  int is = cols * B * by + B * bx + cols * B + tx;
  int ie = cols * B * by + B * bx + cols * ty + B;
  __shared__ float south_c[B][B];
  __shared__ float east_c[B][B];
  __shared__ float c_temp[B][B];
  __shared__ float c_result[B][B];
  __shared__ float temp[B][B];
  temp[ty][tx] = J[index];
  __syncthreads();
  south_c[ty][tx] = C[is];
  if (by == gridDim.y - 1) south_c[ty][tx] = C[cols * B * (gridDim.y - 1) + B * bx + cols * (B - 1) + tx];
  __syncthreads();
  east_c[ty][tx] = C[ie];
  if (bx == gridDim.x - 1) east_c[ty][tx] = C[cols * B * by + B * (gridDim.x - 1) + cols * ty + B - 1];
  __syncthreads();
  c_temp[ty][tx] = C[index];
  __syncthreads();
  float cc = c_temp[ty][tx], cn = cc, cs, cw = cc, ce;
  if (ty == B - 1 && tx == B - 1) { cs = south_c[ty][tx]; ce = east_c[ty][tx]; }
  else if (tx == B - 1) { cs = c_temp[ty + 1][tx]; ce = east_c[ty][tx]; }
  else if (ty == B - 1) { cs = south_c[ty][tx]; ce = c_temp[ty][tx + 1]; }
  else { cs = c_temp[ty + 1][tx]; ce = c_temp[ty][tx + 1]; }
  float d = cn * N[index] + cs * S[index] + cw * W[index] + ce * E[index];
  c_result[ty][tx] = temp[ty][tx] + 0.25f * lambda * d;
  __syncthreads();
  J[index] = c_result[ty][tx];
}
