/** Unit tests of what needs no editor. */
import './text.test';
import './versions.test';
