// Imports go one way along the flow. Each rule names a room and what it may use; everything else inside src is refused.
const rooms = {
  model: [],
  ports: ['model'],
  operators: ['model', 'ports'],
  pipeline: ['operators', 'ports', 'model'],
  ingress: ['operators', 'ports', 'model'],
  config: ['operators', 'model'],
  adapters: ['ports', 'model', 'operators'],
  sandbox: ['model'],
  runtime: ['pipeline', 'ingress', 'adapters', 'config', 'operators', 'ports', 'model', 'sandbox'],
  cli: ['runtime', 'config', 'model'],
};

const oneWay = Object.entries(rooms).map(([room, mayUse]) => ({
  name: `${room}-imports-one-way`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^src/', pathNot: `^src/(${[room, ...mayUse].join('|')})/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...oneWay,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'adapters-do-not-know-each-other',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: '^src/adapters/($1|system)/' },
    },
    {
      name: 'only-adapters-touch-the-world',
      severity: 'error',
      from: { path: '^src/(model|ports|operators|pipeline|ingress)/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer)$' },
    },
    {
      name: 'drivers-stay-in-adapters',
      severity: 'error',
      from: { path: '^src/(model|ports|operators|pipeline|config|cli)/' },
      to: { path: 'node_modules/(kafkajs|ioredis|undici|lmdb|fastify|pino|prom-client|@opentelemetry)/' },
    },
    { name: 'not-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
