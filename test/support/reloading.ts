import type { Served } from '../../src/runtime/serve.ts';

/** How often a process has taken its configuration file over, or refused it, since it was started. */
export async function reloads({ adminUrl }: Served, outcome: 'applied' | 'refused'): Promise<number> {
  const text = await fetch(`${adminUrl}/metrics`).then((response) => response.text());
  return Number(new RegExp(`larkspur_config_reloads_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
}
