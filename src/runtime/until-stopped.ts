/** Waits for SIGINT or SIGTERM. A second one ends the process at once. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals): void => {
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop);
      resolve(signal);
    };
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop);
  });
}
