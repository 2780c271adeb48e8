import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type Embedded, openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { FolderProcess } from '../../../support/embedded/folder-process.ts';
import { only } from '../../../support/only.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'larkspur-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function openHere(data = folder): Embedded {
  const time = new VirtualTime();
  return openEmbedded({
    data,
    clock: time,
    timers: time,
    logger: noLogger,
    topics: [{ name: 'calls', partitions: 1 }],
  });
}

async function leaveOwner(owner: Record<string, unknown>): Promise<void> {
  await openHere().close();
  const env = open<Buffer, Buffer>({ path: join(folder, 'db'), encoding: 'binary', keyEncoding: 'binary' });
  await env.put(Buffer.from('owner'), Buffer.from(JSON.stringify(owner)));
  await env.close();
}

describe('a data folder', () => {
  it('is made with all folders above it, and keeps its cluster id', async () => {
    const path = join(folder, 'a', 'b');
    const first = openHere(path);
    await first.close();
    const second = openHere(path);
    expect(second.clusterId).toBe(first.clusterId);
    expect(JSON.parse(readFileSync(join(path, 'format.json'), 'utf8'))).toEqual({
      format: 1,
      clusterId: first.clusterId,
    });
    await second.close();
  });

  it.each(['garbage', 'g'.repeat(8_192)])('says so when its database is something else: %.9s', async (text) => {
    await openHere().close();
    writeFileSync(join(folder, 'db', 'data.mdb'), text);
    // In a process of its own: what LMDB makes of such a file ends the process.
    const other = new FolderProcess(folder, 'hold');
    const answer = JSON.parse(await other.first()) as { code: string };
    await other.kill9();

    expect(answer.code).toBe('data_folder_damaged');
  });

  it('starts afresh in a database file that is still empty', async () => {
    await openHere().close();
    writeFileSync(join(folder, 'db', 'data.mdb'), '');

    await expect(openHere().close()).resolves.toBeUndefined();
  });

  it('refuses a second process and names the first and the cure', async () => {
    const house = openHere();
    const other = new FolderProcess(folder, 'hold');
    const refusal = JSON.parse(await other.first()) as { code: string; message: string; cure: string };
    expect(refusal.code).toBe('data_folder_locked');
    expect(refusal.message).toContain(`process ${process.pid}`);
    expect(refusal.cure).toContain('--data');
    await other.kill9();
    await house.close();
  });

  it('refuses the same process a second time, until it was closed', async () => {
    const house = openHere();
    expect(() => openHere()).toThrow(expect.objectContaining({ code: 'data_folder_locked' }));
    await house.close();
    await openHere().close();
  });

  it('goes to one of several that come after a dead owner', async () => {
    const dead = new FolderProcess(folder, 'hold');
    expect(await dead.first()).toBe('open');
    await dead.kill9();
    const heirs = [1, 2, 3].map(() => new FolderProcess(folder, 'hold'));
    const answers = await Promise.all(heirs.map((heir) => heir.first()));
    expect(answers.filter((answer) => answer === 'open')).toHaveLength(1);
    expect(answers.filter((answer) => answer.includes('data_folder_locked'))).toHaveLength(2);
    await Promise.all(heirs.map((heir) => heir.kill9()));
  }, 60_000);

  it.runIf(process.platform === 'linux')(
    'is taken over when the pid of its owner belongs to a later process',
    async () => {
      const where = `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
      await leaveOwner({ pid: process.pid, startedAt: '1', where, renewedMs: Date.now() });
      const heir = openHere();
      expect(heir.ready()).toBe(true);
      await heir.close();
    },
  );

  it('is left to an owner on another host for as long as that shows signs of life', async () => {
    const foreign = { pid: 1, startedAt: '1', where: 'elsewhere' };
    await leaveOwner({ ...foreign, renewedMs: Date.now() });
    expect(() => openHere()).toThrow(/process 1 on elsewhere/);
    const env = open<Buffer, Buffer>({ path: join(folder, 'db'), encoding: 'binary', keyEncoding: 'binary' });
    await env.put(Buffer.from('owner'), Buffer.from(JSON.stringify({ ...foreign, renewedMs: Date.now() - 15_001 })));
    await env.close();
    await openHere().close();
  });

  it('takes no writes of a process that stood still until another one took it for dead, and stays with that one', async () => {
    const house = openHere();
    const env = open<Buffer, Buffer>({ path: join(folder, 'db'), encoding: 'binary', keyEncoding: 'binary' });
    const owner = Buffer.from(JSON.stringify({ pid: 1, startedAt: '1', where: 'elsewhere', renewedMs: Date.now() }));
    await env.put(Buffer.from('owner'), owner);
    let acknowledged = false;
    void only(house.sink.append({ topic: 'calls', key: null, value: Buffer.from('late'), headers: [] })).then(
      () => (acknowledged = true),
    );
    expect(await house.lost).toMatchObject({ code: 'data_folder_locked' });
    expect([acknowledged, house.ready()]).toEqual([false, false]);
    await expect(house.close()).rejects.toMatchObject({
      code: 'data_folder_locked',
      message: expect.stringContaining('process 1 on elsewhere') as string,
    });
    expect(env.get(Buffer.from('owner'))).toEqual(owner);
    await env.close();
  });

  it('that another process took is noticed within seconds by one that writes nothing', async () => {
    const time = new VirtualTime();
    const house = openEmbedded({ data: folder, clock: time, timers: time, logger: noLogger, topics: [] });
    const env = open<Buffer, Buffer>({ path: join(folder, 'db'), encoding: 'binary', keyEncoding: 'binary' });
    await env.put(Buffer.from('owner'), Buffer.from(JSON.stringify({ pid: 1, where: 'elsewhere', renewedMs: 0 })));
    let lost = '';
    void house.lost.then(({ code }) => (lost = code));
    for (let second = 0; second < 5; second++) {
      time.advance(1_000);
      await setImmediate();
    }
    expect(lost).toBe('data_folder_locked');
    await expect(house.close()).rejects.toMatchObject({ code: 'data_folder_locked' });
    await env.close();
  });

  it('of another format is refused and left as it is', () => {
    const text = '{"format":99,"clusterId":"x"}';
    writeFileSync(join(folder, 'format.json'), text);
    expect(() => openHere()).toThrow(expect.objectContaining({ code: 'data_folder_version' }));
    expect(readFileSync(join(folder, 'format.json'), 'utf8')).toBe(text);
  });

  it('of a newer format is refused and says so; of an older one too', () => {
    writeFileSync(join(folder, 'format.json'), '{"format":2,"clusterId":"x"}');
    expect(() => openHere()).toThrow(expect.objectContaining({ cure: expect.stringContaining('newer') as string }));
    writeFileSync(join(folder, 'format.json'), '{"format":0,"clusterId":"x"}');
    expect(() => openHere()).toThrow(expect.objectContaining({ code: 'data_folder_version' }));
  });

  it.runIf(process.platform === 'linux').each(['/proc/x', '/proc/x/y/z', '/sys/x'])(
    '%s, where no folder can be made, is refused at once',
    (path) => {
      expect(() => openHere(path)).toThrow(expect.objectContaining({ code: 'data_folder_unusable' }));
    },
  );

  it('with an unreadable format is refused', () => {
    writeFileSync(join(folder, 'format.json'), 'not json');
    expect(() => openHere()).toThrow(/format unknown/);
  });

  it('that cannot be made or written is refused with a cure', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => openHere(join(folder, 'file', 'data'))).toThrow(
      expect.objectContaining({ code: 'data_folder_unusable', cure: expect.stringContaining('--data') as string }),
    );
    mkdirSync(join(folder, 'broken'));
    writeFileSync(join(folder, 'broken', 'db'), 'this is no database');
    expect(() => openHere(join(folder, 'broken'))).toThrow(expect.objectContaining({ code: 'data_folder_unusable' }));
  });

  it('S000-36: holds everything that was acknowledged before a kill -9, records and claims', async () => {
    for (let round = 0; round < 3; round++) {
      const writer = new FolderProcess(folder, 'write');
      await writer.until((lines) => lines.length > 300 + 157 * round);
      await writer.kill9();
      const acks = writer.lines.slice(1).map((line) => line.split(' '));
      const house = openHere();
      for (const [offset, id = ''] of acks) {
        expect(house.read('calls', 0, Number(offset))?.value).toHaveLength(2_000);
        expect(await only(house.claims.view(id))).toEqual({ kind: 'pending' });
      }
      expect(house.lag('nobody', ['calls'])[0]?.lag).toBeGreaterThanOrEqual(acks.length);
      await house.close();
      rmSync(folder, { recursive: true });
    }
    mkdirSync(folder);
  }, 60_000);

  it('that is full acknowledges only what it holds, says so with a cure, and is whole afterwards', async () => {
    const writer = new FolderProcess(folder, 'write', 2_048);
    await writer.until((lines) => lines.some((line) => line.includes('store_full')));
    expect(writer.lines.find((line) => line.includes('store_full'))).toContain('free space');
    // Time for a second try of the same writes, which may find a freed page or fail again.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await writer.kill9();
    const acks = writer.lines.filter((line) => /^\d/.test(line)).map((line) => line.split(' '));
    expect(acks.length).toBeGreaterThan(0);
    expect(acks.length * 2_000).toBeLessThan(2_048 * 1_024);
    const house = openHere();
    for (const [offset] of acks) expect(house.read('calls', 0, Number(offset))?.value).toHaveLength(2_000);
    await house.close();
  }, 60_000);
});
