export { createSandbox } from '../sandbox/sandbox.ts';
