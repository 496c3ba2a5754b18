import { Link } from '@tanstack/react-router';
import Bad from 'lucide-react/icons/circle-alert';
import Fine from 'lucide-react/icons/circle-check';
import Unknown from 'lucide-react/icons/circle-dashed';
import Warn from 'lucide-react/icons/triangle-alert';
import type { FindingList } from '../../../../../src/contract/connector/findings.ts';
import { connector } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import { useRead, useReading } from '../../data/read.ts';
import { ReadSection } from '../../ui/as-of.tsx';
import { Chip } from '../../ui/chip.tsx';
import { showCount } from '../../ui/count.ts';
import { showTime } from '../../ui/times.tsx';
import { REMEDIES } from './remedies.ts';

type Finding = FindingList['findings'][number];

const ICONS = { problem: Bad, warning: Warn, ok: Fine, not_checked: Unknown } as const;

/** What the doctor finds without its command: problems first, and the checks that found nothing folded. */
export function Findings() {
  const { data, error, ...figure } = useRead({
    queryKey: ['doctor'],
    queryFn: () => connector('GET', '/v1/doctor'),
    enabled: mode().connector,
  });
  const { isCurrent } = useReading([figure]);
  const of = (...verdicts: readonly Finding['verdict'][]) =>
    (data?.findings ?? []).filter(({ verdict }) => verdicts.includes(verdict));
  const [wrong, fine, open] = [[...of('problem'), ...of('warning')], of('ok'), of('not_checked')];
  return (
    <ReadSection label="Findings" title="What the doctor finds" figures={[figure]} error={error}>
      {data === undefined ? null : (
        <>
          {wrong.length > 0 ? (
            <ul className="card rows concerns">{wrong.map(show)}</ul>
          ) : (
            <p className="card rows quiet" data-clear={isCurrent}>
              {isCurrent ? <Fine /> : <Unknown />}
              {isCurrent ? 'Nothing is wrong, as far as the database shows.' : 'Not known now.'}
            </p>
          )}
          <details>
            <summary>
              {showCount(fine.length, 'check')} fine, {open.length} not possible · examined at{' '}
              {showTime(data.at)}
            </summary>
            <ul className="card rows quiet">{[...fine, ...open].map(show)}</ul>
          </details>
        </>
      )}
    </ReadSection>
  );
}

function show({ check, accountId, verdict, code, says, evidence, advice }: Finding) {
  const Icon = ICONS[verdict];
  const remedy = code === null ? undefined : REMEDIES[code];
  const todo = remedy?.advice === undefined ? advice : [remedy.advice];
  return (
    <li key={`${check} ${accountId} ${code} ${says}`} data-tone={verdict === 'problem' ? 'bad' : 'warn'}>
      <Icon />
      <div>
        <b>
          <bdi>{says}</bdi>
        </b>{' '}
        <Chip>{code ?? check}</Chip>{' '}
        {accountId === null ? null : <bdi className="faint mono">{accountId}</bdi>}
        {[...evidence, ...todo].map((line) => (
          <p key={line} className="soft">
            <bdi>{line}</bdi>
          </p>
        ))}
        {remedy === undefined ? null : (
          <Link to="/sync" hash={remedy.section} search={remedy.state ? { state: remedy.state } : {}}>
            {remedy.label}
          </Link>
        )}
      </div>
    </li>
  );
}
