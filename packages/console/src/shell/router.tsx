import {
  createRootRoute,
  createRoute,
  createRouter,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router';
import { screensOf } from '../../../../src/contract/console/screens.ts';
import { mode } from '../data/live.ts';
import { lazyPart } from '../screens/lazy-part.tsx';
import { OverviewScreen } from '../screens/overview/screen.tsx';
import { NotFound, ScreenError, Shell } from './shell.tsx';

/** A text of the search parameters; absent if empty. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The search of a list: its filter. */
function listSearch(search: Record<string, unknown>): { q?: string | undefined } {
  const q = text(search['q']);
  return q === undefined ? {} : { q };
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: ScreenError });

const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    const [first] = screensOf(mode());
    if (first !== undefined) throw redirect({ to: first.path });
  },
  component: NotFound,
});

const overview = createRoute({
  getParentRoute: () => root,
  path: '/overview',
  validateSearch: ({ range }: Record<string, unknown>): { range?: 'day' | undefined } =>
    range === 'day' ? { range } : {},
  component: OverviewScreen,
});

const connections = createRoute({
  getParentRoute: () => root,
  path: '/connections',
  validateSearch: listSearch,
  component: lazyPart('ConnectionsScreen'),
});
const connection = createRoute({ getParentRoute: () => connections, path: '$id' });

const Deliveries = lazyPart('DeliveriesScreen');
const Received = lazyPart('ReceivedScreen');

const deliveries = createRoute({
  getParentRoute: () => root,
  path: '/deliveries',
  validateSearch: listSearch,
  component: () => (mode().mode === 'sandbox' ? <Deliveries /> : <Received />),
});
const delivery = createRoute({ getParentRoute: () => deliveries, path: '$id' });

const calls = createRoute({
  getParentRoute: () => root,
  path: '/calls',
  validateSearch: listSearch,
  component: lazyPart('CallsScreen'),
});
const call = createRoute({ getParentRoute: () => calls, path: '$id' });

/** The search of the phones: which list, its filter, and the open chat by who is at its other end. */
function phoneSearch(search: Record<string, unknown>): {
  list?: 'contacts' | undefined;
  q?: string | undefined;
  with?: string | undefined;
} {
  const other = text(search['with']);
  return {
    ...(search['list'] === 'contacts' ? { list: 'contacts' } : {}),
    ...listSearch(search),
    ...(other === undefined ? {} : { with: other }),
  };
}

const phones = createRoute({
  getParentRoute: () => root,
  path: '/phone',
  validateSearch: phoneSearch,
  component: lazyPart('PhoneScreen'),
});
const phone = createRoute({ getParentRoute: () => phones, path: '$id' });

const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  validateSearch: (search: Record<string, unknown>): { peer?: string | undefined } => {
    const peer = text(search['peer']);
    return peer === undefined ? {} : { peer };
  },
  component: lazyPart('InboxScreen'),
});
const conversation = createRoute({ getParentRoute: () => inbox, path: '$id' });

const sync = createRoute({
  getParentRoute: () => root,
  path: '/sync',
  validateSearch: (search: Record<string, unknown>): { state?: string | undefined } => {
    const state = text(search['state']);
    return state === undefined ? {} : { state };
  },
  component: lazyPart('SyncScreen'),
});

const journeys = createRoute({
  getParentRoute: () => root,
  path: '/journey',
  validateSearch: listSearch,
  component: lazyPart('JourneyScreen'),
});
const journey = createRoute({ getParentRoute: () => journeys, path: '$id' });

const access = createRoute({
  getParentRoute: () => root,
  path: '/access',
  component: lazyPart('AccessScreen'),
});
const credential = createRoute({ getParentRoute: () => access, path: '$id' });

export const router = createRouter({
  routeTree: root.addChildren([
    start,
    overview,
    connections.addChildren([connection]),
    deliveries.addChildren([delivery]),
    calls.addChildren([call]),
    phones.addChildren([phone]),
    inbox.addChildren([conversation]),
    sync,
    access.addChildren([credential]),
    journeys.addChildren([journey]),
  ]),
  // Plain texts: `?q=1` stays a text.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: stringifySearchWith(String),
  defaultErrorComponent: ScreenError,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
