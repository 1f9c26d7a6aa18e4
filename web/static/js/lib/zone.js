// The zone that times are shown in.
import { signal, useSignal } from './signal.js'
import { zone } from './store.js'

/** serverZone is the zone of jobs that name none, as the leader says it; '' while it is not known, or has no name. */
export const serverZone = signal('')

/**
 * zoneFor is the zone that a user wants times in; '' is the browser's own. What belongs to no one job, such as a chart,
 * counts as a job that names no zone.
 * @param {'mine' | 'job' | 'utc'} choice
 * @param {string | undefined} job the job's zone, '' for none of its own
 * @param {string} server that of jobs without one
 */
export const zoneFor = (choice, job, server) => (choice === 'mine' ? '' : (choice === 'job' && (job || server)) || 'UTC')

/**
 * useZone is zoneFor as things are, and draws anew when they change.
 * @param {string} [job] the job's zone
 */
export const useZone = (job) => zoneFor(useSignal(zone), job, useSignal(serverZone))
