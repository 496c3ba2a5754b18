import { z } from 'zod';
import { dateTime } from '../service/fields.ts';

/** Response of `GET /info` and of a reset; also the one line that `npm start -- --json` prints. */
export const sandboxInfo = z.object({
  baseUrl: z.url().describe('`{base_url}`, including `/api/v1`.'),
  legacyBaseUrl: z.url().describe('`{legacy_base_url}`: the same API at its permanent alias.'),
  authUrl: z.url().describe('`{auth_url}`: the host of the OAuth endpoints and of the tool server.'),
  mcpUrl: z.url().describe('The tool server.'),
  sandboxUrl: z.url().describe('This server; the control API is under `/sandbox/v1`.'),
  connectorUrl: z.url().nullable().describe('The attached connector; null if none.'),
  connectorToken: z
    .string()
    .nullable()
    .describe(
      'Bearer token of the attached connector; null if none. Every process on this machine that can reach this address can read it.',
    ),
  workspaceId: z.string().describe('The workspace that the sandbox starts with.'),
  apiKey: z.string().describe('An API key of that workspace with all scopes.'),
  selfCheckWorkspaceId: z
    .string()
    .nullable()
    .describe('The workspace of the messages of the self-check; null if there was none.'),
  webhookUrl: z.string().nullable().describe('The webhook URL that the attached connector registers.'),
  now: dateTime.describe('The current virtual time.'),
});
export type SandboxInfo = z.infer<typeof sandboxInfo>;
