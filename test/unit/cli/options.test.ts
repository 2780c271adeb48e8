import { describe, expect, it, vi } from 'vitest';

import { larkspur } from '../../support/command-line.ts';

vi.setConfig({ testTimeout: 60_000 });

describe('options that do not go together', () => {
  it.each([
    [
      ['dead-letters', 'redrive', '--dry-run', '--undo', 'r1'],
      /'--undo <name>' cannot be used with option '--dry-run'/,
    ],
    [
      ['dead-letters', 'redrive', '--dry-run', '--stop', 'r1'],
      /'--stop <name>' cannot be used with option '--dry-run'/,
    ],
    [['dead-letters', 'redrive', '--resume', 'r1', '--reason', 'permanent'], /'--resume <name>' cannot .* '--reason/],
    [['dead-letters', 'redrive', '--resume', 'r1', '--undo', 'r1'], /'--resume <name>' cannot .* '--undo <name>'/],
    [['report', '--from', '2026-01-31T12:00:00Z', '--days', '3'], /'--from <time>' cannot be used with option '--days/],
    [['report', '--to', '2026-01-31T12:00:00Z'], /--to needs --from\ncure: /],
    [
      ['report', '--from', '2026-01-31T12:00:00Z', '--to', '2026-01-31T11:00:00Z'],
      /--to 2026-01-31T11:00:00.000Z is not after --from/,
    ],
    [['chaos', '--force', '--seed', '3', 'run', 'x.yaml'], /--seed, --force would not count here\ncure: .* chaos run/],
  ])('are refused, none is left out in silence: %j', async (args, error) => {
    const { code, out, err } = await larkspur(...args, '--url', 'http://127.0.0.1:1');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(error);
  });
});
