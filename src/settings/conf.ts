// conf's only export is a default one; here it has a name, as everything else does.
import Conf from 'conf'

export { Conf }
