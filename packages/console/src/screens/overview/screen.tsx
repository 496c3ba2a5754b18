import { getRouteApi, useNavigate } from '@tanstack/react-router';
import Write from 'lucide-react/icons/message-circle-plus';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { SYNC_STATUS } from '../../data/sync-status.ts';
import { PageHead } from '../../ui/page-head.tsx';
import { WriteAsContact } from '../../ui/write-as-contact.tsx';
import { lazyPart } from '../lazy-part.tsx';
import { Attention } from './attention.tsx';
import { Flow } from './flow.tsx';
import { Lane } from './lane.tsx';
import './overview.css';

const route = getRouteApi('/overview');

const Trends = lazyPart('Trends');
const Findings = lazyPart('Findings');
const Summary = lazyPart('Summary');
const Environment = lazyPart('Environment');
const FirstSteps = lazyPart('FirstSteps');

/**
 * How messages flow, and what needs attention. In a sandbox, also what to do first, and what an application needs to
 * call it; beside a connector in production, whether it keeps up.
 */
export function OverviewScreen() {
  const isSandbox = mode().mode === 'sandbox';
  const { range = 'hour' } = route.useSearch();
  const navigate = useNavigate();
  const { data, ...figure } = useRead({ ...SYNC_STATUS, enabled: !isSandbox });
  return (
    <div className="overview">
      {isSandbox ? (
        <PageHead>
          <WriteAsContact className="button main">
            <Write />
          </WriteAsContact>
        </PageHead>
      ) : null}
      <Flow
        range={range}
        onRange={(chosen) =>
          void navigate({
            to: '/overview',
            search: chosen === 'hour' ? {} : { range: chosen },
            replace: true,
          })
        }
      />
      <div>
        <Attention />
        {isSandbox ? <Lane /> : <Trends range={range} />}
        {isSandbox ? null : <Findings />}
      </div>
      <div>
        {isSandbox ? <FirstSteps /> : null}
        {isSandbox ? <Environment /> : null}
        {isSandbox || data === undefined ? null : <Summary status={data} figure={figure} />}
      </div>
    </div>
  );
}
