import { describe, expect, it } from 'vitest';

import { GroupCommit } from '../../../../src/adapters/embedded/group-commit.ts';
import { LarkspurError } from '../../../../src/model/errors.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function build(): {
  commit: GroupCommit;
  time: VirtualTime;
  groups: number[];
  told: string[];
  disk: { full: boolean; error?: LarkspurError };
  lost: string[];
} {
  const time = new VirtualTime();
  const groups: number[] = [];
  const disk: { full: boolean; error?: LarkspurError } = { full: false };
  const lost: string[] = [];
  const commit = new GroupCommit(
    (writes) => {
      if (disk.full) throw disk.error ?? new Error('no space left');
      groups.push(writes.length);
    },
    time,
    noLogger,
    (error) => lost.push(error.code),
  );
  return { commit, time, groups, told: [], disk, lost };
}

describe('GroupCommit', () => {
  it('makes one transaction of all writes of a turn and tells in order', async () => {
    const { commit, groups, told } = build();
    for (const name of ['a', 'b', 'c']) {
      commit.add(() => undefined);
      commit.whenDone(() => told.push(name));
    }
    expect(told).toEqual([]);
    await turn();
    expect(groups).toEqual([3]);
    expect(told).toEqual(['a', 'b', 'c']);
  });

  it('answers at once when nothing is on its way', () => {
    const { commit, told } = build();
    commit.whenDone(() => told.push('now'));
    expect(told).toEqual(['now']);
  });

  it('keeps all writes while the disk is full, tells nobody, and goes on when there is room', async () => {
    const { commit, time, groups, told, disk } = build();
    disk.full = true;
    commit.add(() => undefined);
    commit.whenDone(() => told.push('first'));
    await turn();
    expect(commit.healthy).toBe(false);
    commit.add(() => undefined);
    commit.whenDone(() => told.push('second'));
    time.advance(5_000);
    expect(told).toEqual([]);
    disk.full = false;
    time.advance(1_000);
    expect(commit.healthy).toBe(true);
    expect(groups).toEqual([2]);
    expect(told).toEqual(['first', 'second']);
  });

  it('tells once what no waiting mends, tries nothing more, and says the same on closing', async () => {
    const { commit, time, disk, lost } = build();
    disk.full = true;
    commit.add(() => undefined);
    await turn();
    expect([lost, time.pending]).toEqual([[], 1]);
    disk.error = new LarkspurError('data_folder_locked', 'another process has it');
    time.advance(1_000);
    commit.add(() => undefined);
    await turn();
    expect([lost, time.pending]).toEqual([['data_folder_locked'], 0]);
    expect(commit.healthy).toBe(false);
    expect(() => commit.close()).toThrow(disk.error);
  });

  it('says on closing that the last writes could not be kept', async () => {
    const { commit, disk } = build();
    disk.full = true;
    commit.add(() => undefined);
    await turn();
    expect(() => commit.close()).toThrow(expect.objectContaining({ code: 'store_full', retryable: true }));
  });
});
