import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import Write from 'lucide-react/icons/message-circle-plus';
import { CONTACT } from '../../data/contact.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { syncStatus } from '../../data/sync-status.ts';
import { lazyPart } from '../../ui/lazy-part.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Attention } from './attention.tsx';
import { Flow } from './flow.tsx';
import { Lane } from './lane.tsx';
import './overview.css';

const route = getRouteApi('/overview');

const Trends = lazyPart('trends', async () => (await import('./trends.tsx')).Trends);
const Findings = lazyPart('findings', async () => (await import('../sync/findings.tsx')).Findings);
const Summary = lazyPart('summary', async () => (await import('../sync/summary.tsx')).Summary);
const Environment = lazyPart('environment', async () => (await import('./environment.tsx')).Environment);
const FirstSteps = lazyPart('first-steps', async () => (await import('./first-steps.tsx')).FirstSteps);

/**
 * How messages flow, and what needs attention. In a sandbox, also what to do first, and what an application needs to
 * call it; beside a connector in production, whether it keeps up.
 */
export function OverviewScreen() {
  const isSandbox = mode().mode === 'sandbox';
  const { range = 'hour' } = route.useSearch();
  const navigate = useNavigate();
  const { data, ...figure } = useRead({ ...syncStatus(), enabled: !isSandbox });
  return (
    <div className="overview">
      {isSandbox ? (
        <PageHead>
          <Link
            to="/phone/$id"
            params={{ id: CONTACT }}
            search={{ list: 'contacts' }}
            className="button main"
          >
            <Write />
            Write as a contact
          </Link>
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
