export { createSandbox } from '../sandbox/sandbox.ts';
export type { Sandbox } from '../sandbox/sandbox-api.ts';
