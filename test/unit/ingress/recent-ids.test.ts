import { describe, expect, it } from 'vitest';

import { RecentIds } from '../../../src/ingress/recent-ids.ts';

describe('RecentIds', () => {
  const holding = (...ids: string[]): RecentIds => {
    const recent = new RecentIds(3);
    for (const id of ids) recent.add(id);
    return recent;
  };
  const known = (recent: RecentIds): string[] => ['a', 'b', 'c', 'd', 'e'].filter((id) => recent.has(id));

  it('knows what was added, and nothing else', () => {
    expect(known(holding())).toEqual([]);
    expect(known(holding('a', 'c'))).toEqual(['a', 'c']);
  });

  it('forgets the oldest when it is full', () => {
    expect(known(holding('a', 'b', 'c'))).toEqual(['a', 'b', 'c']);
    expect(known(holding('a', 'b', 'c', 'd', 'e'))).toEqual(['c', 'd', 'e']);
  });

  it('takes an id that is added again for the newest, and keeps it once', () => {
    expect(known(holding('a', 'b', 'c', 'a', 'd'))).toEqual(['a', 'c', 'd']);
    expect(known(holding('a', 'a', 'a', 'b', 'c'))).toEqual(['a', 'b', 'c']);
  });

  it('takes no id for newer because somebody asked for it', () => {
    const recent = holding('a', 'b', 'c');
    expect(recent.has('a')).toBe(true);
    recent.add('d');
    expect(known(recent)).toEqual(['b', 'c', 'd']);
  });
});
