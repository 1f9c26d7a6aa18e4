// Retries stylesheets that could not be loaded.
import { delayOf } from './retry.js'

/**
 * retryStyles retries the page's stylesheets that failed to load. None is still loading, because scripts run only after every
 * stylesheet was loaded or has failed.
 */
export function retryStyles() {
  for (const link of document.querySelectorAll('link[rel="stylesheet"]')) {
    if (link instanceof HTMLLinkElement && !isLoaded(link)) retry(link, 1)
  }
}

/**
 * isLoaded reports whether a stylesheet was loaded. For one that was not, Chromium has a sheet whose rules cannot be read.
 * @param {HTMLLinkElement} link
 */
function isLoaded(link) {
  try {
    return Boolean(link.sheet?.cssRules)
  } catch {
    return false
  }
}

/**
 * @param {HTMLLinkElement} link
 * @param {number} tries
 */
function retry(link, tries) {
  setTimeout(() => {
    const next = /** @type {HTMLLinkElement} */ (link.cloneNode())
    next.addEventListener('error', () => retry(next, tries + 1))
    link.replaceWith(next)
  }, delayOf(tries))
}
