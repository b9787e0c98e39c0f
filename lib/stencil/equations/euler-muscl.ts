// The Euler equations with MUSCL and SSP-RK2.
import { define } from '../define.ts';
import { parts, primitive, sound, type Axis, type Gas } from './gas.ts';
import { advanced, faceFlux, functions, mean } from './muscl.ts';

export const musclEuler = define({
  dimensions: 1, fields: ['rho', 'mx', 'E'], parameters: ['gamma'], functions,
  step: [({ rho, mx, E }, { gamma }, { dx, dt }) => {
    const q = advanced((_, k) => [rho(k), E(k), parts(1, () => mx(k))], parts(1, () => dt / dx), gamma, faceFlux);
    return { rho: q[0], mx: q[2][0], E: q[1] };
  }, ({ rho, mx, E }, { gamma }, { dx, dt, before }) => {
    const q = advanced((_, k) => [rho(k), E(k), parts(1, () => mx(k))], parts(1, () => dt / dx), gamma, faceFlux);
    return { rho: mean(before.rho(), q[0]), mx: mean(before.mx(), q[2][0]), E: mean(before.E(), q[1]) };
  }],
  speed: ({ rho, mx, E }, { gamma }) => {
    const w = primitive([rho(), E(), parts(1, () => mx())], gamma);
    return Math.abs(w[2][0]) + sound(w, gamma);
  },
  admissible: ({ rho, mx, E }) => rho > 0 && 2 * rho * E > mx * mx,
});

export const musclEulerIn2 = define({
  dimensions: 2, fields: ['rho', 'mx', 'my', 'E'], parameters: ['gamma'], functions,
  step: [({ rho, mx, my, E }, { gamma }, { dx, dy, dt }) => {
    const cell = (i: number, j: number): Gas => [rho(i, j), E(i, j), parts(2, (a) => (a === 0 ? mx(i, j) : my(i, j)))];
    const ratios = parts(2, (a) => (a === 0 ? dt / dx : dt / dy));
    const q = advanced((axis, k) => (axis === 0 ? cell(k, 0) : cell(0, k)), ratios, gamma, faceFlux);
    return { rho: q[0], mx: q[2][0], my: q[2][1], E: q[1] };
  }, ({ rho, mx, my, E }, { gamma }, { dx, dy, dt, before }) => {
    const cell = (i: number, j: number): Gas => [rho(i, j), E(i, j), parts(2, (a) => (a === 0 ? mx(i, j) : my(i, j)))];
    const ratios = parts(2, (a) => (a === 0 ? dt / dx : dt / dy));
    const q = advanced((axis, k) => (axis === 0 ? cell(k, 0) : cell(0, k)), ratios, gamma, faceFlux);
    return {
      rho: mean(before.rho(), q[0]), mx: mean(before.mx(), q[2][0]), my: mean(before.my(), q[2][1]), E: mean(before.E(), q[1]),
    };
  }],
  speed: ({ rho, mx, my, E }, { gamma }) => {
    const w = primitive([rho(), E(), parts(2, (a) => (a === 0 ? mx() : my()))], gamma);
    const c = sound(w, gamma);
    return { x: Math.abs(w[2][0]) + c, y: Math.abs(w[2][1]) + c };
  },
  admissible: ({ rho, mx, my, E }) => rho > 0 && 2 * rho * E > mx * mx + my * my,
});

export const musclEulerIn3 = define({
  dimensions: 3, fields: ['rho', 'mx', 'my', 'mz', 'E'], parameters: ['gamma'], functions,
  step: [({ rho, mx, my, mz, E }, { gamma }, { dx, dy, dz, dt }) => {
    const cell = (i: number, j: number, k: number): Gas => [rho(i, j, k), E(i, j, k), [mx(i, j, k), my(i, j, k), mz(i, j, k)]];
    const at = (axis: Axis, k: number): Gas => (axis === 0 ? cell(k, 0, 0) : axis === 1 ? cell(0, k, 0) : cell(0, 0, k));
    const q = advanced(at, [dt / dx, dt / dy, dt / dz], gamma, faceFlux);
    return { rho: q[0], mx: q[2][0], my: q[2][1], mz: q[2][2], E: q[1] };
  }, ({ rho, mx, my, mz, E }, { gamma }, { dx, dy, dz, dt, before }) => {
    const cell = (i: number, j: number, k: number): Gas => [rho(i, j, k), E(i, j, k), [mx(i, j, k), my(i, j, k), mz(i, j, k)]];
    const at = (axis: Axis, k: number): Gas => (axis === 0 ? cell(k, 0, 0) : axis === 1 ? cell(0, k, 0) : cell(0, 0, k));
    const q = advanced(at, [dt / dx, dt / dy, dt / dz], gamma, faceFlux);
    return {
      rho: mean(before.rho(), q[0]), mx: mean(before.mx(), q[2][0]), my: mean(before.my(), q[2][1]),
      mz: mean(before.mz(), q[2][2]), E: mean(before.E(), q[1]),
    };
  }],
  speed: ({ rho, mx, my, mz, E }, { gamma }) => {
    const w = primitive([rho(), E(), [mx(), my(), mz()]], gamma);
    const c = sound(w, gamma);
    return { x: Math.abs(w[2][0]) + c, y: Math.abs(w[2][1]) + c, z: Math.abs(w[2][2]) + c };
  },
  admissible: ({ rho, mx, my, mz, E }) => rho > 0 && 2 * rho * E > mx * mx + my * my + mz * mz,
});
