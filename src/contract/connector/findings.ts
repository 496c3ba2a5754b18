import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { accountId } from './lists.ts';

const finding = z.object({
  check: z.string().describe('Id of the check.'),
  title: z.string().describe('What is checked.'),
  accountId: accountId
    .nullable()
    .describe('The account that it is about; null if it is about the whole connector.'),
  verdict: z
    .enum(['ok', 'warning', 'problem', 'not_checked'])
    .describe(
      '`ok`: all is well. `warning`: it deserves attention. `problem`: it will not resolve itself. `not_checked`: it could not be checked, or there is nothing to check.',
    ),
  code: z.string().nullable().describe('What was found, for programs; null if the check has one result.'),
  says: z.string().describe('What was found, in one sentence.'),
  evidence: z.array(z.string()).describe('Figures, times and codes.'),
  advice: z.array(z.string()).describe('What to do, the most important first.'),
});

/** Response of `GET /v1/doctor`. */
export const findingList = z.object({
  at: dateTime.describe('When it was examined.'),
  findings: z.array(finding).describe('All results, causes before their effects.'),
});
export type FindingList = z.infer<typeof findingList>;
