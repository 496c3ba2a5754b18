import type { LucideIcon } from 'lucide-react';
import Calls from 'lucide-react/icons/arrow-left-right';
import Access from 'lucide-react/icons/key-round';
import Overview from 'lucide-react/icons/layout-dashboard';
import Inbox from 'lucide-react/icons/messages-square';
import Connections from 'lucide-react/icons/plug';
import Sync from 'lucide-react/icons/refresh-cw';
import Journey from 'lucide-react/icons/route';
import Phone from 'lucide-react/icons/smartphone';
import Deliveries from 'lucide-react/icons/webhook';
import type { SCREENS } from '../../../../src/contract/console/screens.ts';

/** How a screen is shown: its icon, and in one sentence what it is for. */
export const LOOKS: Readonly<
  Record<(typeof SCREENS)[number]['path'], { readonly Icon: LucideIcon; readonly purpose: string }>
> = {
  '/overview': { Icon: Overview, purpose: 'Everything between the phone of a contact and your CRM.' },
  '/connections': { Icon: Connections, purpose: 'Phone numbers of the network, and what happens to them.' },
  '/phone': { Icon: Phone, purpose: 'The phones of your numbers, and of those who write to them.' },
  '/inbox': { Icon: Inbox, purpose: 'What the connector has stored, as an agent of the CRM sees it.' },
  '/deliveries': { Icon: Deliveries, purpose: 'Events at the webhooks, and how each was answered.' },
  '/calls': { Icon: Calls, purpose: 'Requests to the service, and why it refused some.' },
  '/sync': { Icon: Sync, purpose: 'Whether the connector keeps up: what it repaired, and what waits.' },
  '/access': { Icon: Access, purpose: 'Who may call the service: API keys, OAuth apps and grants.' },
  '/journey': { Icon: Journey, purpose: 'The way of one message, from the phone to the CRM.' },
};

/** What a narrow window has at its bottom. The other screens follow in a menu, if there are more than five. */
export const AT_HAND: readonly string[] = ['/overview', '/phone', '/inbox', '/deliveries'];
