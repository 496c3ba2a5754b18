import * as clock from './clock.ts';
import * as faults from './faults.ts';
import { sandboxInfo } from './info.ts';
import { READ_ERRORS, type SandboxEndpoint, WRITE_ERRORS } from './sandbox-endpoint.ts';

/** The sandbox itself, its time and its faults. */
export const TIME_ENDPOINTS = {
  getInfo: {
    method: 'GET',
    path: '/info',
    summary: 'Tells addresses and credentials.',
    answers: [{ status: 200, description: 'The sandbox.', schema: sandboxInfo }],
    errors: READ_ERRORS,
  },
  reset: {
    method: 'POST',
    path: '/reset',
    summary: 'Goes back to the seeded state, with new ids; time stays.',
    answers: [{ status: 200, description: 'The sandbox afterwards.', schema: sandboxInfo }],
    errors: WRITE_ERRORS,
  },
  getClock: {
    method: 'GET',
    path: '/clock',
    summary: 'Reads virtual time.',
    answers: [{ status: 200, description: 'The clock.', schema: clock.virtualClock }],
    errors: READ_ERRORS,
  },
  advanceClock: {
    method: 'POST',
    path: '/clock/advance',
    summary: 'Moves virtual time forward; everything due fires in order.',
    body: { schema: clock.advanceClockRequest, required: true },
    answers: [{ status: 200, description: 'What fired.', schema: clock.advancedClock }],
    errors: WRITE_ERRORS,
  },
  freezeClock: {
    method: 'POST',
    path: '/clock/freeze',
    summary: 'Stops virtual time.',
    answers: [{ status: 200, description: 'The clock.', schema: clock.virtualClock }],
    errors: WRITE_ERRORS,
  },
  runClock: {
    method: 'POST',
    path: '/clock/run',
    summary: 'Lets virtual time run with the wall clock.',
    answers: [{ status: 200, description: 'The clock.', schema: clock.virtualClock }],
    errors: WRITE_ERRORS,
  },
  listDue: {
    method: 'GET',
    path: '/clock/due',
    summary: 'Lists what fires next.',
    query: clock.dueTimersQuery,
    answers: [{ status: 200, description: 'Soonest first.', schema: clock.dueTimerList }],
    errors: [...READ_ERRORS, 'invalid_request'],
  },
  getTiming: {
    method: 'GET',
    path: '/timing',
    summary: 'Reads the pace of sends.',
    answers: [{ status: 200, description: 'The pace.', schema: clock.timing }],
    errors: READ_ERRORS,
  },
  setTiming: {
    method: 'PUT',
    path: '/timing',
    summary: 'Sets the pace of sends.',
    body: { schema: clock.timing, required: true },
    answers: [{ status: 200, description: 'As it stands now.', schema: clock.timing }],
    errors: WRITE_ERRORS,
  },
  getFaults: {
    method: 'GET',
    path: '/faults',
    summary: 'Reads the rules and their hits.',
    answers: [{ status: 200, description: 'The rules.', schema: faults.faults }],
    errors: READ_ERRORS,
  },
  putFaults: {
    method: 'PUT',
    path: '/faults',
    summary: 'Replaces all rules.',
    body: { schema: faults.putFaultsRequest, required: true },
    answers: [{ status: 200, description: 'The rules.', schema: faults.faults }],
    errors: WRITE_ERRORS,
  },
  deleteFaults: {
    method: 'DELETE',
    path: '/faults',
    summary: 'Switches all faults off.',
    answers: [{ status: 200, description: 'No rules.', schema: faults.faults }],
    errors: READ_ERRORS,
  },
} as const satisfies Readonly<Record<string, SandboxEndpoint>>;
