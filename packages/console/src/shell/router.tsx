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

/** The texts of a search with these names, without empty ones. */
function texts<Key extends string>(...keys: readonly Key[]) {
  return (search: Record<string, unknown>): { [Each in Key]?: string | undefined } =>
    Object.fromEntries(
      keys
        .map((key) => [key, search[key]] as const)
        .filter(([, value]) => typeof value === 'string' && value !== ''),
    ) as { [Each in Key]?: string };
}

/** The search of a list: its filter. */
const listSearch = texts('q');

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

/** Which list of phones, its filter, and the open chat by who is at its other end. */
type PhoneSearch = {
  list?: 'contacts' | undefined;
  q?: string | undefined;
  with?: string | undefined;
};

const phones = createRoute({
  getParentRoute: () => root,
  path: '/phone',
  validateSearch: (search: Record<string, unknown>): PhoneSearch => ({
    ...(search['list'] === 'contacts' ? { list: 'contacts' } : {}),
    ...texts('q', 'with')(search),
  }),
  component: lazyPart('PhoneScreen'),
});
const phone = createRoute({ getParentRoute: () => phones, path: '$id' });

const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  validateSearch: texts('peer'),
  component: lazyPart('InboxScreen'),
});
const conversation = createRoute({ getParentRoute: () => inbox, path: '$id' });

const sync = createRoute({
  getParentRoute: () => root,
  path: '/sync',
  validateSearch: texts('state'),
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
