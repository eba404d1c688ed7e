/** Unit tests of what needs no editor. */
import './manifest.test';
import './text.test';
import './versions.test';
