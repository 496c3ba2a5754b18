/** For the tests of a CRM: a private loop, and helpers for tests of handlers. Does not need a test runner. */
import '../runtime/node-version/demand-node.mjs';

export { CallRefused, type Client } from '../client/create-client.ts';
export type { ChangeHandlers, HandlerContext } from '../connector/consumers/sinks/handler.ts';
export type { Change } from '../contract/connector/changes.ts';
export type { Snapshot } from '../contract/sandbox/snapshots.ts';
export {
  type Delivered,
  deliver,
  failsThenTakes,
  type HandlerCall,
  type RecordingHandlers,
} from './deliver.ts';
export { startTestLoop, type TestLoop, type TestLoopOptions } from './test-loop.ts';
