import { lastValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { SourceReader } from '../support/source-reader.ts';

import { commit, named, type SourceHarness, SourceStage, texts } from './source-stage.ts';

/** What every record source promises about groups, commits and its end. */
export function recordMembershipSuite(name: string, open: () => Promise<SourceHarness>): void {
  describe(`a record source as a member (${name})`, () => {
    const stage = new SourceStage(open);

    it('goes on at the committed offset after it left and came back, and gives the metadata back as written', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 10));
      const group = stage.group();
      const first = stage.join(group, [topic]);
      await first.reader.until(() => first.reader.records.length === 10);
      const metadata = `d1:4:${'é'.repeat(3_000)}`;
      await commit(first.reader, 4, metadata);
      await first.leave();
      const second = stage.join(group, [topic]);
      await second.reader.until(() => second.reader.records.length === 6);
      expect(second.reader.events[0]).toMatchObject({ kind: 'assigned', fromOffset: 4, metadata });
      expect(second.reader.values).toEqual(named(4, 10));
    });

    it('takes a commit without metadata as none', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 2));
      const group = stage.group();
      const first = stage.join(group, [topic]);
      await first.reader.until(() => first.reader.records.length === 2);
      await commit(first.reader, 1, 'something');
      await commit(first.reader, 2);
      await first.leave();
      const second = stage.join(group, [topic]);
      await second.reader.until(() => second.reader.partitions.length === 1);
      expect(second.reader.events[0]).toMatchObject({ fromOffset: 2, metadata: null });
    });

    it('starts a new group where another one is, and that stays its start while the other goes on', async () => {
      const topic = await stage.harness.topic(2);
      await stage.harness.write(topic, texts(0, 10));
      const [theirs, ours] = [stage.group(), stage.group()];
      const other = stage.join(theirs, [topic]);
      await other.reader.until(() => other.reader.records.length === 10);
      const at = other.reader.partition(other.reader.records[0]?.partition);
      const theyCommit = (offset: number) =>
        lastValueFrom(other.reader.source.commit([{ partition: at, offset, metadata: `d1:${offset}` }]));
      await theyCommit(4);
      const first = stage.join(ours, [topic], undefined, theirs);
      await first.reader.until(() => first.reader.records.length === 6);
      expect(first.reader.values).toEqual(named(4, 10));
      await first.leave();

      await theyCommit(9);
      const second = stage.join(ours, [topic], undefined, theirs);
      await second.reader.until(() => second.reader.records.length === 6);
      expect(second.reader.events.filter(({ kind }) => kind === 'assigned')).toContainEqual(
        expect.objectContaining({ fromOffset: 4, metadata: 'd1:4' }),
      );
      expect(second.reader.values).toEqual(named(4, 10));
    });

    it('starts a new group at the start of the log when the other one has committed nothing, and that stays, too', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 5));
      const [theirs, ours] = [stage.group(), stage.group()];
      const first = stage.join(ours, [topic], undefined, theirs);
      await first.reader.until(() => first.reader.records.length === 5);
      await first.leave();
      const other = stage.join(theirs, [topic]);
      await other.reader.until(() => other.reader.records.length === 5);
      await commit(other.reader, 3);
      const second = stage.join(ours, [topic], undefined, theirs);
      await second.reader.until(() => second.reader.records.length === 5);
      expect(second.reader.values).toEqual(named(0, 5));
    });

    it('drops a commit for a partition that is no longer ours, and still completes', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 5));
      const group = stage.group();
      const first = stage.join(group, [topic]);
      await first.reader.until(() => first.reader.records.length === 5);
      await commit(first.reader, 2);
      const old = first.reader.partition();
      await first.leave();
      const commits = [{ partition: old, offset: 5, metadata: '' }];
      await lastValueFrom(first.reader.source.commit(commits), { defaultValue: undefined });
      const second = stage.join(group, [topic]);
      await second.reader.until(() => second.reader.records.length === 3);
      await lastValueFrom(second.reader.source.commit(commits), { defaultValue: undefined });
      await second.leave();
      const third = stage.join(group, [topic]);
      await third.reader.until(() => third.reader.records.length === 3);
      expect(third.reader.values).toEqual(named(2, 5));
    });

    it('gives each record the time it was written, and a cluster id that stays', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 1));
      const { reader } = stage.join(stage.group(), [topic]);
      await reader.until(() => reader.records.length === 1);
      expect(Math.abs((reader.records[0]?.timestampMs ?? 0) - Date.now())).toBeLessThan(60_000);
      const id = reader.source.clusterId();
      expect(id).not.toBe('');
      const again = stage.join(stage.group(), [topic]);
      await again.reader.until(() => again.reader.partitions.length === 1);
      expect(again.reader.source.clusterId()).toBe(id);
    });

    it('reads several topics, each group for itself', async () => {
      const [one, two] = [await stage.harness.topic(1), await stage.harness.topic(2)];
      await stage.harness.write(one, texts(0, 3));
      await stage.harness.write(two, texts(3, 5));
      const first = stage.join(stage.group(), [one, two]);
      const second = stage.join(stage.group(), [two]);
      await first.reader.until(() => first.reader.records.length === 5);
      await second.reader.until(() => second.reader.records.length === 2);
      expect(first.reader.partitions).toHaveLength(3);
      expect([...first.reader.values].sort()).toEqual(named(0, 5));
    });

    it('is ready while it reads, not before it was subscribed and not after it left', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 1));
      const { source, close } = stage.harness.source(stage.group(), [topic]);
      expect(source.ready()).toBe(false);
      const reader = new SourceReader(source);
      await reader.until(() => reader.records.length === 1 && source.ready());
      reader.unsubscribe();
      await close();
      expect(source.ready()).toBe(false);
    });

    it('delivers nothing after it was unsubscribed, even inside next', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 50));
      const member = stage.join(stage.group(), [topic], () => {
        if (member.reader.records.length === 5) member.reader.unsubscribe();
      });
      await member.reader.until(() => member.reader.records.length === 5);
      await member.leave();
      expect(member.reader.records).toHaveLength(5);
    });

    it('refuses a second subscription', async () => {
      const topic = await stage.harness.topic(1);
      const member = stage.join(stage.group(), [topic]);
      const again = new SourceReader(member.reader.source);
      expect(again.error).toMatchObject({ code: 'internal' });
    });
  });
}
