import { writeFileSync } from 'node:fs';
import { describeDifference } from '../scenario/observe.ts';
import { record } from '../scenario/replay.ts';
import { writeScenario } from '../scenario/scenario.ts';
import { UsageError } from './command-line.ts';
import { advanceOf, readText, type Subcommand } from './subcommand.ts';

/** `sandbox record`: writes a scenario of what the sandbox has seen. */
export const RECORD: Subcommand = {
  words: '[file]',
  summary:
    'writes what came from outside since the last reset as a scenario, which "scenario replay" repeats.',
  options: {
    last: { type: 'string', value: 'TIME', description: 'only causes of this virtual time, such as 5m' },
  },
  async run({ callPort, optional, options }) {
    const last = readText(options, 'last');
    const advance = last === undefined ? undefined : advanceOf(last);
    if (advance !== undefined && 'to' in advance) throw new UsageError('--last must be a time such as 5m.');
    const { scenario, differences, unknownIds } = await record(callPort, advance?.ms);
    const lines = writeScenario(scenario);
    const file = optional('file');
    if (file === undefined) return { json: scenario, text: lines.trimEnd() };
    writeFileSync(file, lines);
    const { causes, observations, complete } = scenario;
    const text = [
      `${causes.length} causes and ${observations.length} observations are in ${file}`,
      ...(complete ? [] : ['earlier causes are missing, so a replay may differ: reset the sandbox first']),
      ...(unknownIds.length === 0 ? [] : [`the origin of these ids is not known: ${unknownIds.join(', ')}`]),
      ...differences.map((difference) => `${difference.of}: ${describeDifference(difference)}`),
    ].join('\n');
    return { json: { file, causes: causes.length, observations: observations.length, differences }, text };
  },
};
