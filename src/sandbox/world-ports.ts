/** Where the sandbox takes its time from. A virtual one makes a run repeatable. */
export interface SandboxClock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Epoch milliseconds, for answers and records. */
  wall(): number;
}

/** The sandbox's one source of timers. */
export interface SandboxTimers {
  /** Runs `task` once after `ms`; returns a function that cancels it. */
  after(ms: number, task: () => void): () => void;
}

/** Where the sandbox takes its chance from: a number in [0, 1). */
export interface SandboxRandom {
  next(): number;
}

/** The machine's own clocks. */
export const machineClock: SandboxClock = { now: () => performance.now(), wall: () => Date.now() };

/** The machine's own timers. They do not keep the process alive: the listening socket does. */
export const machineTimers: SandboxTimers = {
  after(ms, task) {
    const handle = setTimeout(task, ms).unref();
    return () => clearTimeout(handle);
  },
};

/** A repeatable stream of numbers in [0, 1): a Weyl sequence through the 32-bit finaliser of MurmurHash3. */
export function seeded(seed: number): SandboxRandom {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x9e37_79b9) >>> 0;
      let bits = state;
      bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
      bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
      return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
    },
  };
}
