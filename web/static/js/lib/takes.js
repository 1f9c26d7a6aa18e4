// What apps may have: images and pod templates on Kubernetes, only packages elsewhere.
import { useResource } from './resource.js'

/** useTakesImages returns whether apps may have images; undefined until that is known. */
export function useTakesImages() {
  const schema = useResource('/api/schema/app')
  return schema.data && schema.data.properties?.image !== undefined
}
