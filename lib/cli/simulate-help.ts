// The text of warploom simulate --help.

/** What `warploom simulate --help` prints. */
export const simulateHelp = `Usage: warploom simulate FILE|NAME [--shape N,M] [--dt T] (--time T | --steps K) [-o DIR] [options]
       warploom simulate heat|ks|euler --n POINTS (--time T | --steps K) [-o DIR] [options]
       warploom simulate JOB.json [-o DIR]

An equation of your own is a file (.mjs, .js, .ts) that exports it, and what to run by default:

  // rings.mjs
  export default {
    dimensions: 2, fields: ['u', 'v'], parameters: ['c'],
    rate: ({ u, v }, { c }, { laplacian }) => ({ u: v(), v: c * c * laplacian(u) }),
    method: 'rk4',
  };
  export const options = {
    shape: [200, 200], spacing: 0.01, dt: 0.005, until: { time: 1 }, parameters: { c: 1 },
    initial: { u: (x, y) => Math.exp(-400 * ((x - 1) ** 2 + (y - 1) ** 2)), v: 0 },
    boundary: 'mirror', units: { x: 'm', y: 'm', t: 's', u: 'mm' },
  };

  warploom simulate rings.mjs -o rings --film u
  warploom simulate rings.mjs -o speeds --sweep c=0.5,1,2

rate (or step) is compiled: it sees its arguments, Math and what it declares. docs/stencil.md has all of it.

  NAME               advection, burgers, euler, euler-weno5, fitzhugh-nagumo, gray-scott, heat,
                     kuramoto-sivashinsky, maxwell, shallow-water, wave or wave-in-medium, with --shape
      --shape N,M    cells along each axis
      --spacing D    distance of cells, one number or one for each axis (default 1)
      --origin X,Y   the lower corner of the domain (default 0)
      --dt T         time step; with the next ones, the longest
      --cfl C, --diffusion D  steps by a CFL number or a diffusion number, for equations with speed or diffusivity
      --time T       end at exactly this time (the last step is shortened if need be)
      --steps K      end after this many steps
      --snapshots S  number of states to keep (default 50)
      --set P=V      a parameter; again for others
      --initial F=V  a field at time 0: a number, a .npy file, or a function: --initial 'u=(x, y) => x * y'
      --coefficient C=V  values of a coefficient, in the same ways
      --boundary B   periodic, mirror, odd-mirror, outflow, or conditions as JSON (docs/stencil.md)
      --sweep P=A,B  one run for each value of a parameter; again for all combinations
      --unit Q=U     the unit of a field, or of x, y, z or t, for pictures
      --film F       an animated PNG of field F, in two and three dimensions
      --precision P  float64 (default), float32
      --variant V    auto, classic, streaming; on a device also graph, persistent or swept (docs/stencil.md)
      --backend B    auto, cuda, cpu, simt
      --again        also run what is already finished
  -o, --out DIR      results go to DIR/all, or to one folder for each value of a sweep: result.zarr, result.json,
                     fields.svg (maps, slices in three dimensions) or space-time.svg and profile.svg in one dimension,
                     film.png and film.svg (default warploom-simulation); the same command resumes a killed run

In one dimension, three equations have implementations of their own, which are faster:

  heat   u_t = diffusivity u_xx                       --dt, or --fourier (at most 0.5)
  ks     u_t = -((u²)_x/2 + u_xx + u_xxxx)            --dt
  euler  gas dynamics: density, velocity, pressure    --dt, or --cfl (at most 0.9; 0.55 with limiter paper)

      --n N              points of the domain, at least 3 (heat) or 5
      --dx D, --length L spacing of the points, or length of the domain (default 1; ks: required)
      --time, --steps, --snapshots, --precision, --backend, --out
                         as above; results go to DIR itself: result.zarr, profile.svg, space-time.svg
                         and a checkpoint
      --initial I        heat: parabola, ramp, cosine:mode=3; ks: paper, noise:seed=1, mode:waves=3;
                         euler: sod, wave, wave:waves=2; or a .npy file with the state
      --boundary B       periodic, reflective, dirichlet (dirichlet:20 holds 20), outflow
      --left B, --right B   a different boundary at each end
      --diffusivity D    heat, default 1
      --gamma G          euler, default 1.4
      --limiter L        euler: van-leer (default), minmod, mc, paper
      --variant V        auto, classic, classic-graph, shared, hybrid, register, tiled, cpu-classic, cpu-tiled
      --paper            use the set-up of Magee and Niemeyer (2018) for everything that is not given
      --warn             warn about an unstable time step instead of rejecting it

Examples
  warploom simulate gray-scott --shape 256,256 --dt 1 --steps 5000 --set F=0.03 --set k=0.062 \\
    --set Du=0.16 --set Dv=0.08 --initial u=1 --film v -o spots \\
    --initial 'v=(x, y) => Math.hypot(x - 128, y - 128) < 9 ? 0.25 : 0'
  warploom simulate euler --n 1026 --cfl 0.4 --initial sod --boundary dirichlet --time 0.2 -o sod
  warploom simulate heat --n 501 --fourier 0.4 --initial ramp --time 0.05 -o rod
  warploom simulate ks --n 1024 --dx 0.5 --dt 0.005 --initial noise:seed=1 --time 200 -o flame

Exit codes: 0 success; 1 values became infinite, an equation that cannot be compiled, or another failure;
2 invalid flags or file; 3 device; 130 interrupted.
`;
