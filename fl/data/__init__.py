"""Data to learn from, and who holds what of it.

dataset             what a data set is
catalogue           the data sets there are
cache               where they are kept
loading             a data set by its name
synthetic           a data set that needs no files
fetching            a data set into the cache, from the first source that has it
source              somewhere a data set can be had
download            what torchvision downloads itself
packages            what is in packages of Debian and npm
archives            named files out of archives that nobody vouches for
idx                 the format of the files
torchvision_import  torchvision beside a torch of another build
laws                laws of partition: label, dirichlet, shards, iid
partition           which samples each device holds
"""

from fl.data.cache import Kept, cache_folder, kept
from fl.data.catalogue import CATALOGUE, Entry, entry_of
from fl.data.dataset import Dataset, DatasetError, Samples
from fl.data.fetching import CACHE, fetch
from fl.data.laws import ByLabel, Dirichlet, Iid, Law, Shards
from fl.data.loading import load_dataset
from fl.data.partition import PARTITION, Partition, partition_samples
from fl.data.torchvision_import import import_torchvision

__all__ = [
    "CACHE",
    "CATALOGUE",
    "PARTITION",
    "ByLabel",
    "Dataset",
    "DatasetError",
    "Dirichlet",
    "Entry",
    "Iid",
    "Kept",
    "Law",
    "Partition",
    "Samples",
    "Shards",
    "cache_folder",
    "entry_of",
    "fetch",
    "import_torchvision",
    "kept",
    "load_dataset",
    "partition_samples",
]
