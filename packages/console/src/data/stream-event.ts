import type { Change } from '../../../../src/contract/connector/changes.ts';
import type { SandboxEvent } from '../../../../src/contract/sandbox/calls.ts';

/** What the stream carries: the sandbox's events, and the changes of an attached connector. */
export type StreamEvent =
  | SandboxEvent
  | { readonly type: 'change'; readonly change: Change }
  | { readonly type: 'changed'; readonly what: 'connector' };
