import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { timing, virtualClock } from './clock.ts';

/** Where a cause entered: the control API, the service or the attached connector, each through the sandbox's port. */
export const CAUSE_SURFACES = ['sandbox', 'service', 'connector'] as const;
export type CauseSurface = (typeof CAUSE_SURFACES)[number];

/** A call through the sandbox's port that changed something. */
export const recordedCause = z.object({
  id: z.int().min(1).describe('Number of the cause.'),
  at: dateTime.describe('When the call arrived, in virtual time.'),
  surface: z
    .enum(CAUSE_SURFACES)
    .describe('`sandbox`: a call below `/sandbox/v1`; `service` and `connector`: one that was forwarded.'),
  method: z.string().describe('The HTTP method.'),
  path: z.string().describe('The path below the prefix of its surface, with the query.'),
  workspaceId: z
    .string()
    .optional()
    .describe('The workspace whose API key a forwarded call to the service used, if one was named.'),
  body: z.unknown().optional().describe('The body; absent if there was none.'),
  answer: z.unknown().describe('The body of the response.'),
});
export type RecordedCause = z.infer<typeof recordedCause>;

/** Response of `GET /recording`. */
export const recording = z.object({
  startedAt: dateTime.describe('When the recording began, in virtual time.'),
  now: dateTime.describe('The current virtual time.'),
  complete: z
    .boolean()
    .describe(
      'Whether the recording begins with the seeded state. False after a start with existing data, and when the oldest causes no longer fit.',
    ),
  frozen: virtualClock.shape.frozen.describe('Whether virtual time was frozen when the recording began.'),
  sendScale: timing.shape.sendScale.describe('The send latency scale when the recording began.'),
  hiddenWorkspaceIds: z.array(z.string()).describe("Workspaces that serve the sandbox's own checks."),
  causes: z.array(recordedCause).describe('What came from outside since then, oldest first.'),
});
export type Recording = z.infer<typeof recording>;
