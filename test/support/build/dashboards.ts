import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

const file = new URL('../../../deploy/grafana/dashboards.yaml', import.meta.url);

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly unit: string;
  /** By the name of their lines. */
  readonly queries: Readonly<Record<string, string>>;
  readonly kind?: 'timeseries' | 'heatmap' | 'bargauge' | 'status-history';
}

interface Dashboard {
  /** Name of its file, and its uid. */
  readonly name: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

const source = { type: 'prometheus', uid: 'prometheus' };

function panelJson({ title, about, unit, queries, kind = 'timeseries' }: Panel, index: number): object {
  const custom = { lineWidth: 1, fillOpacity: 10, showPoints: 'never' };
  return {
    id: index + 1,
    type: kind,
    title,
    description: about,
    datasource: source,
    gridPos: { x: (index % 3) * 8, y: Math.floor(index / 3) * 8, w: 8, h: 8 },
    fieldConfig: { defaults: { unit, min: 0, ...(kind === 'timeseries' ? { custom } : {}) }, overrides: [] },
    targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: source,
      expr,
      legendFormat,
      ...(kind === 'heatmap' ? { format: 'heatmap' } : {}),
    })),
    options:
      kind === 'heatmap'
        ? { calculate: false, color: { mode: 'scheme', scheme: 'Spectral', reverse: true }, yAxis: { unit } }
        : kind === 'timeseries'
          ? { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } }
          : {},
  };
}

/** The dashboards as Grafana reads them: path from the project's root -> JSON. */
export function dashboardFiles(): ReadonlyMap<string, object> {
  const dashboards = parse(readFileSync(file, 'utf8')) as readonly Dashboard[];
  return new Map(
    dashboards.map(({ name, title, panels }) => [
      `deploy/grafana/dashboards/${name}.json`,
      {
        ...{
          uid: name === 'larkspur' ? name : `larkspur-${name}`,
          title,
          tags: ['larkspur'],
          schemaVersion: 41,
          version: 1,
        },
        ...{ editable: false, refresh: '10s', time: { from: 'now-30m', to: 'now' }, timezone: 'browser' },
        templating: { list: [] },
        annotations: { list: [] },
        links: [{ type: 'dashboards', tags: ['larkspur'], title: 'Larkspur', asDropdown: true }],
        panels: panels.map(panelJson),
      },
    ]),
  );
}
