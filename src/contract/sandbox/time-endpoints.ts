import * as clock from './clock.ts';
import * as faults from './faults.ts';
import { sandboxInfo } from './info.ts';
import { recording } from './recording.ts';
import { defineEndpoints } from './sandbox-endpoint.ts';

/** The sandbox itself, its time and its faults. */
export const TIME_ENDPOINTS = defineEndpoints({
  getInfo: {
    method: 'GET',
    path: '/info',
    summary: 'Returns addresses and credentials.',
    answers: [{ status: 200, description: "The sandbox's addresses and credentials.", schema: sandboxInfo }],
  },
  reset: {
    method: 'POST',
    path: '/reset',
    summary: 'Resets to the seeded state, with new ids; virtual time is kept.',
    answers: [
      {
        status: 200,
        description: "The sandbox's addresses and credentials after the reset.",
        schema: sandboxInfo,
      },
    ],
  },
  readRecording: {
    method: 'GET',
    path: '/recording',
    summary:
      'Returns what came from outside since the last reset: the calls through this port that changed something, with their responses. The latest 10,000 are kept, at most 8 MB.',
    answers: [{ status: 200, description: 'The recording.', schema: recording }],
  },
  getClock: {
    method: 'GET',
    path: '/clock',
    summary: 'Returns virtual time.',
    answers: [{ status: 200, description: 'The clock.', schema: clock.virtualClock }],
  },
  advanceClock: {
    method: 'POST',
    path: '/clock/advance',
    summary: 'Advances virtual time; everything due fires in order.',
    body: { schema: clock.advanceClockRequest, required: true },
    answers: [{ status: 200, description: 'The timers that fired.', schema: clock.advancedClock }],
  },
  freezeClock: {
    method: 'POST',
    path: '/clock/freeze',
    summary: 'Freezes virtual time.',
    answers: [{ status: 200, description: 'The clock.', schema: clock.virtualClock }],
  },
  runClock: {
    method: 'POST',
    path: '/clock/run',
    summary: 'Lets virtual time run with the wall clock.',
    answers: [{ status: 200, description: 'The clock.', schema: clock.virtualClock }],
  },
  listDue: {
    method: 'GET',
    path: '/clock/due',
    summary: 'Lists the timers that fire next, or that an advance to a time would fire.',
    query: clock.dueTimersQuery,
    answers: [{ status: 200, description: 'Soonest first.', schema: clock.dueTimerList }],
  },
  getTiming: {
    method: 'GET',
    path: '/timing',
    summary: 'Returns the send latency scale.',
    answers: [{ status: 200, description: 'The current scale.', schema: clock.timing }],
  },
  setTiming: {
    method: 'PUT',
    path: '/timing',
    summary: 'Sets the send latency scale.',
    body: { schema: clock.timing, required: true },
    answers: [{ status: 200, description: 'The current scale.', schema: clock.timing }],
  },
  getFaults: {
    method: 'GET',
    path: '/faults',
    summary: 'Returns the fault rules and their hit counts.',
    answers: [{ status: 200, description: 'The active rules.', schema: faults.faults }],
  },
  putFaults: {
    method: 'PUT',
    path: '/faults',
    summary: 'Replaces all fault rules.',
    body: { schema: faults.putFaultsRequest, required: true },
    answers: [{ status: 200, description: 'The active rules.', schema: faults.faults }],
  },
  deleteFaults: {
    method: 'DELETE',
    path: '/faults',
    summary: 'Removes all fault rules.',
    answers: [{ status: 200, description: 'No rules are active.', schema: faults.faults }],
  },
  addFault: {
    method: 'POST',
    path: '/faults',
    summary: 'Adds a fault rule, in place of the one with its id. The other rules keep their hit counts.',
    body: { schema: faults.faultRuleRequest, required: true },
    answers: [{ status: 200, description: 'The active rules.', schema: faults.faults }],
  },
  removeFault: {
    method: 'DELETE',
    path: '/faults/{id}',
    summary: 'Removes a fault rule. The other rules keep their hit counts.',
    answers: [{ status: 200, description: 'The rules that are left.', schema: faults.faults }],
  },
});
