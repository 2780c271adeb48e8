import { firstValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ParkedCall, ParkedRegister } from '../../src/ports/parked-register.ts';

/** A register as two processes see it, and a way to start the second one anew. */
export interface ParkedBench {
  readonly register: ParkedRegister;
  /** The same store, by another client; the same one where only one process can have it. */
  readonly other: ParkedRegister;
  /** A restart: what is durable is there. */
  restarted(): Promise<ParkedRegister>;
  close(): Promise<void>;
}

const sorted = (calls: readonly ParkedCall[]) => [...calls].sort((a, b) => a.offset - b.offset);

/** What every {@link ParkedRegister} promises. */
export function parkedRegisterSuite(name: string, open: () => Promise<ParkedBench>): void {
  describe(`a register of parked calls: ${name}`, () => {
    let bench: ParkedBench;
    beforeEach(async () => {
      bench = await open();
    });
    afterEach(() => bench.close());

    const opened = (register: ParkedRegister, partition = 'c/calls/0') => firstValueFrom(register.open(partition));
    const calls: ParkedCall[] = [
      { key: 'a', offset: 3, dueMs: 1_767_225_600_123 },
      { key: 'b c/d\n', offset: 0, dueMs: 5 },
      { key: '键 🐦', offset: 9_007_199_254, dueMs: 0 },
      { key: '', offset: 7, dueMs: 1 },
      { key: '\u00ff\u0000', offset: 12, dueMs: 2 },
    ];

    it('knows after a restart what was put, under any key, and no more what was removed', async () => {
      const { fence } = await opened(bench.register);
      const scope = { partition: 'c/calls/0', fence };
      for (const call of calls) expect(await firstValueFrom(bench.register.put(scope, call))).toBe(true);
      expect(await firstValueFrom(bench.register.remove(scope, 7))).toBe(true);
      const next = await bench.restarted();
      expect(sorted((await opened(next)).calls)).toEqual(sorted(calls.filter(({ offset }) => offset !== 7)));
      expect((await opened(next, 'c/calls/1')).calls).toEqual([]);
    });

    it('takes the newest time of a call, and bears repetition', async () => {
      const { fence } = await opened(bench.register);
      const scope = { partition: 'c/calls/0', fence };
      for (const dueMs of [1, 2, 2]) await firstValueFrom(bench.register.put(scope, { key: 'a', offset: 1, dueMs }));
      for (let twice = 0; twice < 2; twice++) await firstValueFrom(bench.register.remove(scope, 99));
      expect((await opened(bench.other)).calls).toEqual([{ key: 'a', offset: 1, dueMs: 2 }]);
    });

    it('lets nobody change a partition that somebody else has opened since; others are theirs', async () => {
      const first = { partition: 'c/calls/0', fence: (await opened(bench.register)).fence };
      const elsewhere = { partition: 'c/calls/1', fence: (await opened(bench.register, 'c/calls/1')).fence };
      const call: ParkedCall = { key: 'a', offset: 1, dueMs: 1 };
      await firstValueFrom(bench.register.put(first, call));
      const second = { partition: 'c/calls/0', fence: (await opened(bench.other)).fence };
      expect(await firstValueFrom(bench.register.put(first, { ...call, offset: 2 }))).toBe(false);
      expect(await firstValueFrom(bench.register.remove(first, 1))).toBe(false);
      expect(await firstValueFrom(bench.register.put(elsewhere, call))).toBe(true);
      expect(await firstValueFrom(bench.other.put(second, { ...call, offset: 3 }))).toBe(true);
      expect(sorted((await opened(bench.register)).calls).map(({ offset }) => offset)).toEqual([1, 3]);
    });

    it('reads thousands of calls whole', async () => {
      const { fence } = await opened(bench.register);
      const scope = { partition: 'c/calls/0', fence };
      const many = Array.from({ length: 3_000 }, (_, offset) => ({ key: `k${offset % 100}`, offset, dueMs: offset }));
      await Promise.all(many.map((call) => firstValueFrom(bench.register.put(scope, call))));
      expect(sorted((await opened(bench.other)).calls)).toEqual(many);
    });
  });
}
