// The time zone in which times are shown.
import { signal, useSignal } from './signal.js'
import { zone } from './store.js'

/** serverZone is the leader's zone, which applies to jobs that name none. It is '' while it is not known, or if it has no name. */
export const serverZone = signal('')

/**
 * zoneFor returns the zone in which to show times to the user; '' is the browser's own. Data that belongs to no single job, such as a
 * chart, counts as that of a job without a zone.
 * @param {'mine' | 'job' | 'utc'} choice
 * @param {string | undefined} job the job's zone, '' if the job names none
 * @param {string} server the zone of jobs that name none
 */
export const zoneFor = (choice, job, server) => (choice === 'mine' ? '' : (choice === 'job' && (job || server)) || 'UTC')

/**
 * useZone returns zoneFor the current choices, and draws the component again when they change.
 * @param {string} [job] the job's zone
 */
export const useZone = (job) => zoneFor(useSignal(zone), job, useSignal(serverZone))
