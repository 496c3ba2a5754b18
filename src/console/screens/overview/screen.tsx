import { mode } from '../../data/live.ts';
import { Attention } from './attention.tsx';
import { Environment } from './environment.tsx';
import { Lane } from './lane.tsx';
import './overview.css';

/** What to do first, how webhooks fare, and what an application needs to call this sandbox. */
export function OverviewScreen() {
  return (
    <div className="overview">
      <h1 className="visually-hidden">Overview</h1>
      <div>
        <Attention />
        <Lane />
      </div>
      {mode().mode === 'sandbox' ? <Environment /> : null}
    </div>
  );
}
