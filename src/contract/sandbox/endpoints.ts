import { ACCESS_ENDPOINTS } from './access-endpoints.ts';
import { CONDITION_ENDPOINTS } from './condition-endpoints.ts';
import { DELIVERY_ENDPOINTS } from './delivery-endpoints.ts';
import { PEOPLE_ENDPOINTS } from './people-endpoints.ts';
import { SNAPSHOT_ENDPOINTS } from './snapshots.ts';
import { TIME_ENDPOINTS } from './time-endpoints.ts';

/** All endpoints of the control API, by operation name. Paths are relative to `/sandbox/v1`. */
export const SANDBOX_ENDPOINTS = {
  ...TIME_ENDPOINTS,
  ...ACCESS_ENDPOINTS,
  ...PEOPLE_ENDPOINTS,
  ...DELIVERY_ENDPOINTS,
  ...CONDITION_ENDPOINTS,
  ...SNAPSHOT_ENDPOINTS,
};

/** Operation name of an endpoint. */
export type SandboxEndpointName = keyof typeof SANDBOX_ENDPOINTS;
