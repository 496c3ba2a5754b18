import { fetchWithin } from '../../runtime/public-network/fetch-within.ts';

/** For the calls of an account that stay on the network on which its service was when the account was added. */
export const NETWORK_FETCH = { public: fetchWithin('public'), private: fetchWithin('private') } as const;
