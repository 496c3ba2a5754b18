import { fetchWithin } from '../../runtime/public-network/fetch-within.ts';

/**
 * For calls of an account that must stay on the network that its service was on when the account was added.
 */
export const NETWORK_FETCH = { public: fetchWithin('public'), private: fetchWithin('private') } as const;
