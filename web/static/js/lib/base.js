// The path below which a proxy serves the console: '' for the whole host, /jobs for https://host/jobs/. The server does not
// know it. The scripts do, by their own address.
const own = /^(.*)\/static\/[^/]+\/js\/lib\/base\.js$/

/** @param {string} address of this module */
export const baseOf = (address) => own.exec(new URL(address).pathname)?.[1] ?? ''

const base = baseOf(import.meta.url)

/**
 * within is the address of a path of this server, as a browser needs it. Paths within the console are those of the server.
 * @param {string} path
 */
export const within = (path) => (path.startsWith('/') && !path.startsWith('//') ? base + path : path)

/**
 * localPath is the path of this server for a browser's path; null for one of another server on the same host.
 * @param {string} pathname
 */
export const localPath = (pathname, below = base) => (pathname === below ? '/' : pathname.startsWith(`${below}/`) ? pathname.slice(below.length) : null)
