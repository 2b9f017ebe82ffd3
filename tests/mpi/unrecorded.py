"""Functions of MPI that a profile does not know, and why. Every other function in the headers of the stacks is in
`lab/profile/src/calls.txt`; `test_recorder.py` holds it so.
"""

import re

# Pattern of whole names -> reason.
REASONS = {
    r"MPI_T_\w+": "the interface of tools reads and sets variables of this process",
    r"MPI_Abi_\w+|MPI_Get_(library_version|version|processor_name|hw_resource_info)": "asks about this process",
    r"MPI_(Initialized|Finalized|Query_thread|Is_thread_main|Wtick|Wtime)": "asks about this process",
    r"MPI_\w+_(c2f|f2c|c2f08|f082c|f082f|f2f08|toint|fromint)": "says a handle or a status in another language",
    r"MPI_(Comm|File|Session|Win)_(create|call|get|set)_errhandler": "error handlers belong to this process",
    r"MPI_Errhandler_(create|free|get|set)": "error handlers belong to this process",
    r"MPI_(Add|Remove)_error_\w+|MPI_Error_(class|string)": "error codes belong to this process",
    r"MPI_(Comm|Type|Win)_\w*(attr|keyval)|MPI_Attr_\w+|MPI_Keyval_\w+": "attributes belong to this process",
    r"MPI_Info_\w+": "an info object belongs to this process",
    r"MPI_(Comm|File|Session|Win)_(get|set)_info": "hints: no data moves (of files and windows all ranks call it)",
    r"MPI_Group_\w+": "a group is known to each process",
    r"MPI_Session_get_(nth_pset|num_psets|pset_info)": "asks for names of groups",
    r"MPI_Comm_(compare|get_name|get_parent|group|rank|remote_group|remote_size|size|test_inter)": "asks what is here",
    r"MPI_Win_((get|set)_name|get_group|shared_query(_c)?)": "asks what is here, or names it",
    r"MPI_(Alloc_mem|Free_mem|Win_attach|Win_detach)": "memory of this process",
    r"MPI_Cart_(coords|get|map|rank|shift)|MPI_Cartdim_get|MPI_Dims_create|MPI_Topo_test": "asks for a topology",
    r"MPI_Graph(_get|_map|dims_get)|MPI_(Dist_g|G)raph_neighbors(_count)?": "asks for a topology",
    r"MPI_Type_(?!get_attr|set_attr|delete_attr|\w+keyval)\w+": "types are made by each process",
    r"MPI_(Address|Get_address|Aint_add|Aint_diff)": "arithmetic on addresses",
    r"MPI_(Pack|Unpack)(_\w+)?|MPI_Reduce_local(_c)?|MPI_Op_\w+": "works on memory of this process",
    r"MPI_Register_datarep(_c)?": "representations of data belong to this process",
    r"MPI_Get_(count|elements)(_\w)?|MPI_Status_\w+|MPI_Test_cancelled": "looks at a status, or changes it",
    r"MPI_(Open|Close)_port|MPI_(Publish|Unpublish|Lookup)_name": "names where others connect; that is recorded",
    r"MPI_File_(delete|get_\w+|seek|set_atomicity)": "asks or sets something of a file: no data moves",
    r"MPI_File_seek_shared": "sets something of a file: no data moves (all ranks call it)",
}


def reasons(name):
    """Patterns that this function fits."""
    return [pattern for pattern in REASONS if re.fullmatch(pattern, name)]


def declared(*headers):
    """Functions that these headers declare."""
    text = "".join(header.read_text(errors="replace") for header in headers)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    # A type before the name: no call, no macro. None is spelled in capitals only.
    return set(re.findall(r"\b(?:int|double|MPI_\w+)\s+(MPI_[A-Z]\w*[a-z]\w*)\s*\(", text))
