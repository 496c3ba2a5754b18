import { createFacts, type Facts } from '../state/facts.ts';
import { type Figure, type FigureCheck, HEALTH } from '../state/health.ts';
import type { DoctorSettings, ExaminedAccount, StoreCheckInput } from './check-input.ts';
import { type Check, type Finding, notChecked, ok, warning } from './finding.ts';
import { inPortal } from './places.ts';

/** What a check says of itself, if no figure exceeds a limit, and if there is nothing to judge. */
interface Words {
  readonly title: string;
  readonly ok: string;
  readonly unless?: (facts: Facts, settings: DoctorSettings) => Promise<Finding | null>;
}

const WORDS: Readonly<Record<FigureCheck, Words>> = {
  connections: { title: 'connections to the database', ok: 'The database has free connections.' },
  processes: { title: 'processes that poll and send', ok: 'A process that polls and sends is alive.' },
  feed: { title: 'numbering of the change feed', ok: 'Changes are numbered without delay.' },
  sends: { title: 'queued sends', ok: 'No send is late, refused for now or unknown.' },
  handler: {
    title: 'dispatch to the consumers',
    ok: 'The consumers keep up with the changes.',
    async unless({ consumers }, settings) {
      const kinds = (await consumers()).map(({ kind }) => kind);
      if (settings.handlersModule !== undefined && !kinds.includes('handler')) {
        return warning('CONNECTOR_HANDLERS is set, but no handler has ever run on this database.', {
          advice: [
            'Restart the connector with CONNECTOR_ROLE all or worker: a web process calls no handler.',
          ],
        });
      }
      return kinds.length > 0 ? null : notChecked('There is no consumer: the CRM reads the feed.');
    },
  },
  files: { title: 'kept files', ok: 'No file waits to be stored or removed for more than an hour.' },
  numbers: {
    title: 'numbers: license and pairing',
    ok: 'The connections are licensed and paired; no license ends within 3 days.',
    async unless({ numbers }) {
      return (await numbers()).length > 0 ? null : notChecked('The account has no connection yet.');
    },
  },
  reading: {
    title: 'fields and records that could not be read',
    ok: 'Everything that the service reported could be read.',
  },
};

/** A check that compares the figures of `HEALTH` with their limits. */
export function figureCheck(
  id: FigureCheck,
): Check<StoreCheckInput & { readonly account?: ExaminedAccount }> {
  return {
    id,
    title: WORDS[id].title,
    run: (input) => judgeFigures(id, createFacts(input), input.settings),
  };
}

/** Compares the figures of a check with their limits. */
export async function judgeFigures(
  id: FigureCheck,
  facts: Facts,
  settings: DoctorSettings,
): Promise<Finding | readonly Finding[]> {
  const findings: Finding[] = [];
  for (const figure of HEALTH.filter(({ check }) => check === id))
    findings.push(...(await judge(figure, facts, settings)));
  if (findings.length > 0) return findings;
  return (await WORDS[id].unless?.(facts, settings)) ?? ok(WORDS[id].ok);
}

const RENEWAL = 'PUT /connections/{id}/licence {"status":"active"}';

async function judge(figure: Figure, facts: Facts, settings: DoctorSettings): Promise<Finding[]> {
  const read = await figure.read(facts);
  const value = typeof read === 'number' ? read : Math.max(0, ...read.map(([, number]) => number));
  const verdicts = ['problem', 'warning'] as const;
  const verdict = verdicts.find(
    (each) => figure[each] !== undefined && value > (figure[`${each}Above`] ?? 0),
  );
  const says = verdict && figure[verdict];
  if (verdict === undefined || says === undefined) return [];
  return [
    {
      verdict,
      says: typeof says === 'string' ? says : says(value),
      evidence: (await figure.evidence?.(facts)) ?? [],
      advice: (figure.advice ?? []).map((line) => line.replace('{portal}', inPortal(settings, RENEWAL))),
      code: figure.code,
    },
  ];
}
