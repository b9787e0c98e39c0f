// Curvature of a 3-D image as total variation denoising needs it (Moazeni et al. 2009, Curvature3D): tiles of 16x16 threads that
// walk through the slices. Three steps: partial derivatives, gradient norms, divergence. Shared memory holds three slices of the
// image with a border of one, and the normalised differences across x and y; those along z stay in registers.
// Launch: blocks (ceil(nx / 16), ceil(ny / 16), nz), threads (16, 16).
// run: curvature3d<<<(2, 2, 3), (16, 16)>>>(in f32 1827, out f32 1827, 29, 21, 3, 1e-4f)

#define TILE_X 16
#define TILE_Y 16

// u[k][j][i] at the pixels around; replicated at the image's border.
__device__ int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

// Difference d over the norm of (d, a, b), where a and b are the averages of four neighbouring differences.
__device__ float normalised(float d, float a, float b, float eps) {
  const float ma = 0.25f * a, mb = 0.25f * b;
  return d / sqrtf(d * d + ma * ma + mb * mb + eps);
}

__global__ void curvature3d(const float* __restrict__ image, float* __restrict__ result, int nx, int ny, int nz, float eps) {
  __shared__ float below[TILE_Y + 2][TILE_X + 2];
  __shared__ float here[TILE_Y + 2][TILE_X + 2];
  __shared__ float above[TILE_Y + 2][TILE_X + 2];
  __shared__ float across[TILE_Y][TILE_X + 2];
  __shared__ float down[TILE_X][TILE_Y + 2];

  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y, z = blockIdx.z;
  for (int i = ty * TILE_X + tx; i < (TILE_X + 2) * (TILE_Y + 2); i += TILE_X * TILE_Y) {
    const int lx = i % (TILE_X + 2), ly = i / (TILE_X + 2);
    const int row = clamped(y0 + ly - 1, ny) * nx + clamped(x0 + lx - 1, nx);
    below[ly][lx] = image[clamped(z - 1, nz) * nx * ny + row];
    here[ly][lx] = image[z * nx * ny + row];
    above[ly][lx] = image[clamped(z + 1, nz) * nx * ny + row];
  }
  __syncthreads();

  // Between this pixel and the next one in x; y and z differences there are averages of four.
  const int x = tx + 1, y = ty + 1;
  const float east = normalised(here[y][x + 1] - here[y][x],
                                here[y + 1][x] - here[y - 1][x] + here[y + 1][x + 1] - here[y - 1][x + 1],
                                above[y][x] - below[y][x] + above[y][x + 1] - below[y][x + 1], eps);
  const float south = normalised(here[y + 1][x] - here[y][x],
                                 here[y][x + 1] - here[y][x - 1] + here[y + 1][x + 1] - here[y + 1][x - 1],
                                 above[y][x] - below[y][x] + above[y + 1][x] - below[y + 1][x], eps);
  const float top = normalised(above[y][x] - here[y][x],
                               here[y][x + 1] - here[y][x - 1] + above[y][x + 1] - above[y][x - 1],
                               here[y + 1][x] - here[y - 1][x] + above[y + 1][x] - above[y - 1][x], eps);
  const float bottom = normalised(here[y][x] - below[y][x],
                                  here[y][x + 1] - here[y][x - 1] + below[y][x + 1] - below[y][x - 1],
                                  here[y + 1][x] - here[y - 1][x] + below[y + 1][x] - below[y - 1][x], eps);
  // The first column and row also need what lies before them.
  float west = 0.0f, north = 0.0f;
  if (tx == 0) {
    west = normalised(here[y][1] - here[y][0], here[y + 1][0] - here[y - 1][0] + here[y + 1][1] - here[y - 1][1],
                      above[y][0] - below[y][0] + above[y][1] - below[y][1], eps);
  }
  if (ty == 0) {
    north = normalised(here[1][x] - here[0][x], here[0][x + 1] - here[0][x - 1] + here[1][x + 1] - here[1][x - 1],
                       above[0][x] - below[0][x] + above[1][x] - below[1][x], eps);
  }
  across[ty][tx + 1] = east;
  down[tx][ty + 1] = south;
  if (tx == 0) across[ty][0] = west;
  if (ty == 0) down[tx][0] = north;
  __syncthreads();

  if (x0 + tx < nx && y0 + ty < ny) {
    result[(z * ny + y0 + ty) * nx + x0 + tx] = across[ty][tx + 1] - across[ty][tx] + down[tx][ty + 1] - down[tx][ty] + top - bottom;
  }
}
