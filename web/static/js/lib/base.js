// The path below which a proxy serves the console: '' for the root of a host, /jobs for https://host/jobs/. The server does not
// know this path. The scripts find it in their own address.
const own = /^(.*)\/static\/[^/]+\/js\/lib\/base\.js$/

/** @param {string} address of this module */
export const baseOf = (address) => own.exec(new URL(address).pathname)?.[1] ?? ''

const base = baseOf(import.meta.url)

/**
 * within returns the address that the browser requires for a path of the server. Everywhere else, paths are those of the server.
 * @param {string} path
 */
export const within = (path) => (path.startsWith('/') && !path.startsWith('//') ? base + path : path)

/**
 * localPath returns the server's path for a path of the browser, or null if that belongs to another server on the same host.
 * @param {string} pathname
 */
export const localPath = (pathname, below = base) => (pathname === below ? '/' : pathname.startsWith(`${below}/`) ? pathname.slice(below.length) : null)
