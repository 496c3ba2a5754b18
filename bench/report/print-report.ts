import { printTable } from '../../test/support/print-table.ts';
import type { BenchReport } from '../measures.ts';
import type { Spread } from './statistics.ts';

/** Prints a report for people: of each benchmark the ratios, then the figures behind them. */
export function printReport(report: BenchReport): void {
  const { machine, postgres, paces, broken, ...benches } = report;
  const print = (line: string): boolean => process.stdout.write(`${line}\n`);
  print(
    `${machine.cores} cores, ${machine.platform}, Node ${machine.node}, Postgres ${postgres.version}` +
      ` (fsync ${postgres.fsync}, synchronous_commit ${postgres.synchronousCommit})`,
  );
  print(`median of the rounds, lowest to highest in brackets: ${describePaces(paces)}`);
  for (const [name, bench] of Object.entries(benches)) {
    print(`\n${name}`);
    printTable(
      bench.ratios.map(({ what, target, reached, ...ratio }) => ({
        what,
        ratio: spread(ratio),
        'to reach': 'atLeast' in target ? `at least ${target.atLeast}` : `below ${target.below}`,
        '': reached ? 'reached' : 'NOT REACHED',
      })),
    );
    const contenders =
      'contenders' in bench ? bench.contenders : 'services' in bench ? bench.services : [bench];
    printTable(contenders.map((one) => figuresOf(one)));
    if ('notMeasured' in bench) print(`not measured: ${JSON.stringify(bench.notMeasured)}`);
  }
  for (const reason of broken) print(`BROKEN  ${reason}`);
}

function describePaces(paces: BenchReport['paces']): string {
  return Object.entries(paces)
    .map(([name, { rounds, seconds }]) => `${name} ${rounds}${seconds === 0 ? '' : ` of ${seconds} s`}`)
    .join(', ');
}

/** The titles, numbers and spreads of an object and of those in it, under their names in words. */
function figuresOf(object: object, within: readonly string[] = []): Record<string, string> {
  return Object.assign(
    {},
    ...Object.entries(object).map(([key, value]) => {
      const path = [...within, key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)];
      if (typeof value === 'number') return { [path.join(' ')]: digits(value) };
      if (key === 'title') return { [key]: value };
      if (typeof value !== 'object' || value === null) return {};
      if ('median' in value) return { [path.join(' ')]: spread(value) };
      if (Array.isArray(value) && !value.every((each) => typeof each === 'number')) return {};
      return figuresOf(value, path);
    }),
  );
}

function digits(value: number): string {
  return value.toFixed(Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

function spread({ median, min, max }: Spread): string {
  return `${digits(median)} (${digits(min)} to ${digits(max)})`;
}
